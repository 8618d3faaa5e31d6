/** A disk that fails during a start may be well at the next one, so svc should be started again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cuts } from './cuts.ts';
import { buildShim } from './disk.ts';
import { seeded } from './proof.ts';
import { World } from './world.ts';

const reasons = { 'write-eio': 'look after the disk', 'write-enospc': 'make room' } as const;

test('a start on a disk that fails, or is full, ends with 1 and names why', async (t) => {
  for (const fault of ['write-eio', 'write-enospc'] as const) {
    await using world = await World.open(seeded(1));
    const shim = buildShim(world.folder);
    if ('why' in shim) return t.skip(`NOT PROVED: ${shim.why}`);
    const cuts = new Cuts(world, shim.file, 0, seeded(2));
    await using program = world.spawn(cuts.env({ fault, permille: 1_000 }));
    assert.equal(await program.ended, 1, program.log());
    assert.match(program.log(), new RegExp(`"level":"error".*${reasons[fault]}`));
  }
});
