/** The files of the release, and their sums. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { made, notMade, releaseFolder } from './made.ts';
import { debName, version } from './smoke.ts';

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
