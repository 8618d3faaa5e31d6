/**
 * Kills the program at random moments: while it starts, while it runs, right after a 200, while a
 * model thinks, and when a reply has just arrived.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../program.ts';
import { seeded, type Proof } from './proof.ts';
import { World } from './world.ts';

const speakers = 6;
const moments = ['start', 'running', '200', 'model', 'reply'] as const;
type Moment = (typeof moments)[number];

export const kill: Proof = {
  name: 'kill',
  title:
    'SIGKILL at random moments: nothing that got a 200 is lost, run twice by its `webhook-id`, ' +
    'repeated without a mark, out of order, or buried',
  unit: 'kills',
  sizes: { test: 3, change: 50, nightly: 1_000 },
  async run(count, seed, say) {
    const random = seeded(seed);
    await using world = await World.open(random);
    world.crowd.begin(speakers);
    for (let killed = 0; killed < count; killed++) {
      // Few: each failed try makes its conversation wait longer, and the proof with it.
      if (killed % 10 === 0) world.receiver.script.push(503, 503);
      await using program = world.spawn();
      const moment = moments[Math.floor(random() * moments.length)]!;
      await comes(moment, world, program, random);
      program.child.kill('SIGKILL');
      await program.ended;
      if (killed % 50 === 49) say(`${killed + 1} kills, ${world.crowd.messages.length} messages`);
    }
    await using program = world.spawn();
    await program.saw('"listening"');
    const figures = await world.conclude(program);
    return { kind: 'proved', figures: { ...figures, resends: world.crowd.resends } };
  },
};

/** As long as a start takes on a quiet machine. */
const startMs = 400;

async function comes(
  moment: Moment,
  world: World,
  program: Program,
  random: () => number,
): Promise<void> {
  if (moment === 'start') return pause(random() * startMs);
  await program.saw('"listening"');
  await pause(random() * 100);
  switch (moment) {
    case 'running':
      return;
    case '200':
      return world.crowd.next200();
    case 'model':
      return void (await world.model.call(world.model.calls.length));
    case 'reply':
      return void (await world.receiver.waitFor(world.receiver.received.length + 1));
    default:
      moment satisfies never;
  }
}
