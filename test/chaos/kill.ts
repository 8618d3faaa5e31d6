/** Kills the program at random moments, and starts it again. */
import assert from 'node:assert/strict';
import { unexplainedIn } from './audit.ts';
import { someMoment } from './moments.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';
import { World } from './world.ts';

const speakers = 6;

export const kill: Proof = {
  name: 'kill',
  title:
    'SIGKILL at random moments: nothing that got a 200 is lost, run twice by its `webhook-id`, ' +
    'repeated without a mark, out of order, dead-lettered, or answered without a trace',
  unit: 'kills',
  sizes: { change: 12, nightly: 1_000 },
  async run(count, seed, say) {
    const random = seeded(seed);
    await using world = await World.open(random);
    world.crowd.begin(speakers);
    for (let killed = 0; killed < count; killed++) {
      // Few: each failed attempt makes its conversation wait longer, and the proof with it.
      if (killed % 10 === 0) world.receiver.script.push(503, 503);
      await using program = await spawnPast(world.database, () => world.spawn());
      await someMoment(world, program, random);
      program.child.kill('SIGKILL');
      await program.ended;
      if (killed % 50 === 49) say(`${killed + 1} kills, ${world.crowd.messages.length} messages`);
    }
    await using program = world.spawn();
    await program.saw('"listening"');
    const figures = await world.conclude(program);
    const unexplained = unexplainedIn(world.database);
    assert.equal(unexplained, 0, 'every answered message has a trace');
    return { kind: 'proved', figures: { ...figures, unexplained, resends: world.crowd.resends } };
  },
};
