import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cuts } from './cuts.ts';
import { buildShim } from './disk.ts';
import { seeded } from './proof.ts';
import { World } from './world.ts';

/** Many times the number that fills a log until SQLite folds it into the database. */
const enough = 1_000;

test('a sync of the database that fails while its log is folded in ends svc', async (t) => {
  await using world = await World.open(seeded(1));
  const shim = buildShim(world.folder);
  if ('why' in shim) return t.skip(`NOT PROVED: ${shim.why}`);
  {
    await using first = world.spawn();
    await first.saw('"listening"');
    first.child.kill('SIGKILL');
    await first.ended;
  }
  const cuts = new Cuts(world, shim.file, 0, seeded(2));
  const many = Promise.withResolvers<string>();
  let accepted = 0;
  world.crowd.onAccepted = () => {
    if (++accepted === enough) many.resolve('it lives on');
  };
  world.crowd.begin(12);
  {
    await using failing = world.spawn(cuts.env({ fault: 'base-sync-eio', permille: 1_000 }));
    const how = await Promise.race([failing.ended, many.promise]);
    if (how !== 1) void world.crowd.end();
    assert.equal(how, 1, failing.log().slice(-2_000));
  }
  await using program = world.spawn();
  await program.saw('"listening"');
  await world.conclude(program);
});
