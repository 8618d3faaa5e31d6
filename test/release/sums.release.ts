/** The sums of the release that was made, and its signature by a key with a password. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keyOf, makeSums } from '../../scripts/release/sums.ts';
import { isOnPath } from '../../src/lib/executable.ts';
import { scratch } from '../support/program.ts';
import { made, notMade, releaseFolder } from './made.ts';
import { debName, version } from './smoke.ts';

const skip = isOnPath('minisign', process.env)
  ? false
  : 'NOT TRIED: signing; there is no minisign here.';

test('every part is there, or was said not to be made', () => {
  const names = {
    npm: [`svc-router-svc-${version}.tgz`, `svc-router-svc-with-node-${version}.tgz`],
    deb: [debName],
    'one-file': ['linux-x64', 'win-x64.exe', 'darwin-arm64'].map((one) => `svc-${version}-${one}`),
    image: [`svc-${version}-image.tar`],
    site: ['site/index.html', 'site/search-index.js'],
    sbom: [`svc-${version}.cdx.json`],
  };
  for (const [part, its] of Object.entries(names)) for (const name of its) made(part, name);
  const unknown = [...notMade.keys()].filter((part) => !(part in names));
  assert.deepEqual(unknown, []);
});

test('the sums are of everything in the release, and say whether they are signed', () => {
  const checked = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
    cwd: releaseFolder(),
    encoding: 'utf8',
  });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  const text = readFileSync(join(releaseFolder(), 'SHA256SUMS'), 'utf8');
  const named = new Set(text.split('\n').map((line) => line.slice(66).split('/')[0]));
  const isSigned = existsSync(join(releaseFolder(), 'SHA256SUMS.minisig'));
  assert.notEqual(isSigned, existsSync(join(releaseFolder(), 'UNSIGNED')));
  const beside = new Set(['SHA256SUMS', isSigned ? 'SHA256SUMS.minisig' : 'UNSIGNED']);
  for (const name of readdirSync(releaseFolder())) {
    assert.equal(named.has(name), !beside.has(name), name);
  }
});

test('a key with a password signs, and its password alone', { skip }, async () => {
  await using place = await scratch();
  const [secret, publicKey] = [join(place.path, 'a.key'), join(place.path, 'a.pub')];
  const password = 'a password of the tests';
  execFileSync('minisign', ['-G', '-s', secret, '-p', publicKey], {
    input: `${password}\n${password}\n`,
    stdio: 'pipe',
  });
  const folder = join(place.path, 'release');
  mkdirSync(folder);
  const options = { folder, scratch: place.path, version };
  const right = keyOf({ SVC_MINISIGN_KEY: secret, SVC_MINISIGN_PASSWORD: password });
  await makeSums({ ...options, key: right });
  const args = ['-V', '-p', publicKey, '-m', join(folder, 'SHA256SUMS')];
  assert.match(execFileSync('minisign', args, { encoding: 'utf8' }), /Signature and comment/);
  const wrong = keyOf({ SVC_MINISIGN_KEY: secret, SVC_MINISIGN_PASSWORD: 'another' });
  await assert.rejects(makeSums({ ...options, key: wrong }), /Wrong password/);
  assert.deepEqual(readdirSync(folder), []);
});
