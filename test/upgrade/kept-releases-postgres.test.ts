/** This release upgrades the kept server database of each former release, and goes on with it. */
import assert from 'node:assert/strict';
import { postgresTest } from '../fake/postgres.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases } from '../kept-releases/kept.ts';

for (const release of keptReleases()) {
  const { version, expected } = release;

  postgresTest(`on the database of ${version} svc starts, and everything goes on`, async () => {
    await using world = await release.open('postgres');
    {
      await using program = world.start();
      await program.saw('"listening"');
      await assertAllGoesOn(world, expected);
      program.child.kill('SIGTERM');
      assert.equal(await program.ended, 0, program.log());
    }
    await using _again = await world.serveHere();
    assert.equal((await world.rows('messages?limit=100')).length > expected.messages, true);
  });
}
