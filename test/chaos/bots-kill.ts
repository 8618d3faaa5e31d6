/** SIGKILL ends a svc with two bots of one platform, so that both end together. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FakeModel, ModelCall } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { freePort, scratch, startProgram, writeConfig, type Program } from '../support/program.ts';
import { until } from '../support/waiting.ts';
import { leftIn } from './audit.ts';
import type { Platform } from './many/platforms.ts';
import { auditTalk, Talk } from './many/talk.ts';
import { startTwoBots } from './many/two-bots.ts';
import { stopAsAsked } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';

/** On each bot. A chat gets one answer a second, after a few at once. */
const people = 6;
const manners = { waitingMax: 4, betweenMs: 800 } as const;
const modelMs = 30;
const moments = ['start', 'model', 'sent', 'running'] as const;
/** The longest delays of a kill after its moment. */
const [startMs, runningMs] = [400, 150];

export const botsKill: Proof = {
  name: 'bots-kill',
  title:
    'SIGKILL of a svc with two bots of one platform: nothing is lost, out of order, repeated ' +
    'but across a kill, or answered by the wrong bot or brain',
  unit: 'kills',
  sizes: { change: 6, nightly: 300 },
  async run(count, seed, say) {
    const random = seeded(seed);
    await using scene = await openScene(random);
    const { platforms, model, talk, database, spawn } = scene;
    const greeted = spawn();
    await greeted.saw('"listening"');
    await talk.greet();
    await stopAsAsked(greeted);
    for (let killed = 1; killed <= count; killed++) {
      await using program = await spawnPast(database, spawn);
      await strikeAt({ platforms, model }, program, random);
      await talk.during(killAll(program, platforms));
      if (killed % 25 === 0) say(`${killed} kills, ${talk.said.length} messages`);
    }
    await using program = spawn();
    await talk.end();
    await stopAsAsked(program);
    const { figures, faults } = auditTalk(talk);
    const left = leftIn(database);
    const all = { ...faults, ...left, 'asked of a wrong brain': scene.wrong.length };
    const none = Object.fromEntries(Object.keys(all).map((name) => [name, 0]));
    assert.deepEqual(
      all,
      none,
      `of ${talk.said.length} messages; ${scene.wrong.slice(0, 3).join(', ')}`,
    );
    return { kind: 'proved', figures: { ...figures, ...all } };
  },
};

/** Resolves when the platforms have read all that the process sent. */
async function killAll(program: Program, platforms: readonly Platform[]): Promise<void> {
  program.child.kill('SIGKILL');
  await program.ended;
  for (const platform of platforms) await platform.unconnected();
}

async function openScene(random: () => number) {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await scratch());
  const bots = await startTwoBots(people, random);
  for (const platform of bots.platforms) opening.use(platform);
  const script = ({ body }: ModelCall) => {
    const { messages, model } = body as { messages: { content: string }[]; model: string };
    const text = messages.at(-1)!.content;
    bots.judge(text, model);
    return { answer: `re: ${text}`, delayMs: random() * modelMs };
  };
  const model = opening.use(await startFakeOllama(script, { models: bots.models }));
  const addr = `127.0.0.1:${await freePort()}`;
  const more = { storage: { path: 'svc.db' }, observability: { addr } };
  const file = await writeConfig(folder, { ...bots.documentFor(model.url), ...more });
  const talk = new Talk(bots.platforms, people, random, manners);
  opening.defer(() => talk.leave());
  const own = opening.move();
  return {
    platforms: bots.platforms,
    wrong: bots.wrong,
    model,
    talk,
    database: join(folder, 'svc.db'),
    spawn: (): Program => startProgram(['serve', '--config', file], bots.env),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

type Struck = { readonly platforms: readonly Platform[]; readonly model: FakeModel };

/** Resolves at a random moment, or when the program has ended by itself. */
async function strikeAt(
  { platforms, model }: Struck,
  program: Program,
  random: () => number,
): Promise<void> {
  const moment = moments[Math.floor(random() * moments.length)]!;
  if (moment === 'start') return pause(random() * startMs);
  await program.saw('"listening"');
  const sent = (): number => platforms.reduce((sum, one) => sum + one.answers().length, 0);
  const before = sent();
  const event = async (): Promise<unknown> => {
    switch (moment) {
      case 'model':
        return model.call(model.calls.length);
      case 'sent':
        return until('an answer', () => sent() > before);
      case 'running':
        return pause(random() * runningMs);
      default:
        return moment satisfies never;
    }
  };
  await Promise.race([event(), program.ended]);
}
