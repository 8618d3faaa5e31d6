/** This release upgrades the kept database file of each former release, and goes on with it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { programVersion } from '../../src/lib/program.ts';
import { runCommand } from '../support/in-process.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases } from '../kept-releases/kept.ts';
import { outcomeOf, root } from '../support/run-svc.ts';

const releases = keptReleases();

test('the version of package.json is kept, and is what the program says it is', async () => {
  const kept = releases.map(({ version }) => version);
  assert.ok(kept.includes(programVersion()), 'npm run keep-release keeps it');
  assert.deepEqual(kept.slice(0, 2), ['0.1.0', '1.0.0'], 'and none goes away');
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  assert.deepEqual(
    [lock.version, lock.packages['']!.version],
    [programVersion(), programVersion()],
  );
  assert.equal((await outcomeOf(['version'])).out, `svc ${programVersion()}\n`);
});

for (const release of releases) {
  const { version, folder, expected } = release;

  test(`the configuration of ${version} is fine`, async () => {
    const file = join(folder, 'svc.json');
    const { code, out, err } = await runCommand(['config', 'check', file]);
    assert.equal(code, 0, out + err);
    assert.doesNotMatch(out + err, /unknown|deprecated/i);
  });

  test(`on the file of ${version} svc starts, and everything is there and goes on`, async () => {
    await using world = await release.open('sqlite');
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
