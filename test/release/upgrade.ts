/** A form of svc on the database and the configuration that the release before has left. */
import assert from 'node:assert/strict';
import { assertAllGoesOn } from '../releases/found.ts';
import { keptReleases } from '../releases/kept.ts';
import { serveInstalled, version, type Installed } from './smoke.ts';

export async function assertUpgrades(installed: Installed): Promise<void> {
  const former = keptReleases().findLast((release) => release.version !== version);
  assert.ok(former, `test/golden/releases/ has none before ${version}`);
  await using world = await former.open('sqlite');
  const own = { ...installed, env: { ...world.env, ...installed.env } };
  await using program = await serveInstalled(own, world.folder, world.file);
  await assertAllGoesOn(world, former.expected);
  assert.equal(await program.stop(), 0, program.log());
}
