/**
 * A disk whose syncs or writes fail now and then, or that is full now and then. svc is started
 * again after each end, and the power is cut now and then as well. A failed sync is the worst
 * fault: some of its bytes are gone, the system believes that all are safe, and no later sync
 * writes them.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../support/program.ts';
import { Cuts } from './cuts.ts';
import { buildShim, type Fault } from './disk.ts';
import { seeded, type Proof } from './proof.ts';
import { World } from './world.ts';
import { patienceMs } from '../support/waiting.ts';

const speakers = 6;
const looks = 4;
const faults = ['sync-eio', 'write-eio', 'write-enospc'] as const satisfies readonly Fault[];
const permille = 20;
/** A process that survives its faults is killed after this time. */
const lifeMs = 3_000;

export const failingDisk: Proof = {
  name: 'failing-disk',
  title:
    'EIO of a sync, EIO and ENOSPC of a write, each at 2 %, with restarts and power cuts: no 200 ' +
    'is lost, what is refused gets a 503, and nothing is synced again after a sync that failed',
  unit: 'faults of each of 3 kinds',
  sizes: { change: 2, nightly: 200 },
  async run(count, seed, say) {
    const random = seeded(seed);
    const figures = { messages: 0, lost: 0, faults: 0, 'ended by itself': 0, 'cuts looked at': 0 };
    for (const fault of faults) {
      await using world = await World.open(random);
      const shim = buildShim(world.folder);
      if ('why' in shim) return { kind: 'skipped', ...shim };
      const cuts = new Cuts(world, shim.file, looks, random);
      world.crowd.begin(speakers);
      let seen = 0;
      while (seen < count) {
        await using program = world.spawn(cuts.env({ fault, permille }));
        if (await endsWell(program)) figures['ended by itself']++;
        const { records, image } = cuts.look(listened(program));
        seen += records.filter(({ kind }) => kind === 'F' || kind === 'E').length;
        if (random() < 0.3) cuts.cut(image);
      }
      await using program = world.spawn();
      await program.saw('"listening"');
      const { messages, lost } = await world.conclude(program);
      const others = [...world.crowd.refusals.keys()].filter((status) => status !== 503);
      assert.deepEqual(others, [], 'nothing but 200 and 503 is answered');
      figures.messages += messages;
      figures.lost += lost;
      figures.faults += seen;
      figures['cuts looked at'] += cuts.figures['cuts looked at'];
      say(`${seen} × ${fault}, ${messages} messages`);
    }
    return { kind: 'proved', figures };
  },
};

const listened = (program: Program): boolean => program.log().includes('"listening"');

/** @returns false when it had to be killed */
async function endsWell(program: Program): Promise<boolean> {
  const code = await endOf(program, lifeMs);
  const last = code ?? (listened(program) ? null : await startOrEnd(program));
  if (last === null) {
    assert.ok(listened(program), `it neither serves nor ends:\n${program.log()}`);
    program.child.kill('SIGKILL');
    await program.ended;
    return false;
  }
  // svc refuses storage that it cannot open with the exit code of a bad configuration.
  const expected = listened(program) ? [1] : [1, 78];
  assert.ok(expected.includes(Number(last)), `ended with ${last}:\n${program.log()}`);
  return true;
}

/** Waits longer, as a slow machine needs to serve or to end. @returns the end; null: it serves */
async function startOrEnd(program: Program): Promise<number | string | null> {
  const serves = program.saw('"listening"').then(
    () => null,
    () => program.ended,
  );
  return Promise.race([serves, endOf(program, patienceMs)]);
}

async function endOf(program: Program, withinMs: number): Promise<number | string | null> {
  const timer = new AbortController();
  const late = pause(withinMs, null, { signal: timer.signal }).catch(() => null);
  const code = await Promise.race([program.ended, late]);
  timer.abort();
  return code;
}
