import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { outcomeOf } from '../../../test/support/run-svc.ts';
import { scratch } from '../../../test/support/program.ts';
import { beginNamedStorage, namesSqlite } from './named-storage.ts';

test('only a storage that plainly is a file is begun ahead', () => {
  for (const [text, named] of [
    ['{"storage": {}}', true],
    ['{"brains": [], "storage" :\n{"path": "svc.db"}}', true],
    ['{"storage": {"url_env": "DATABASE_URL"}}', false],
    ['{"storage": null}', false],
    ['{"storage": {"path": "svc.db"', false],
    ['{"brains": []}', false],
    ['', false],
  ] as const) {
    assert.equal(namesSqlite(text), named, text);
  }
});

test('what is begun and not used ends, and nothing is on the disk', async () => {
  await using folder = await scratch();
  const io = { cwd: folder.path, env: {} };
  writeFileSync(join(folder.path, 'svc.json'), '{"storage": {"path": "svc.db"}}');
  for (const [given, env] of [
    [null, {}],
    ['svc.json', {}],
    [null, { SVC_CONFIG: join(folder.path, 'svc.json') }],
  ] as const) {
    const begun = await beginNamedStorage(given, { ...io, env });
    assert.ok(begun !== null);
    await begun[Symbol.asyncDispose]();
  }
  assert.deepEqual(readdirSync(folder.path), ['svc.json']);
});

test('nothing is read from a pipe, and a file that is not there begins nothing', async () => {
  await using folder = await scratch();
  const io = { cwd: folder.path, env: {} };
  if (process.platform !== 'win32') {
    execFileSync('mkfifo', [join(folder.path, 'pipe')]);
    assert.equal(await beginNamedStorage('pipe', io), null);
  }
  assert.equal(await beginNamedStorage('none.json', io), null);
  assert.equal(await beginNamedStorage('.', io), null);
});

test('a configuration that is refused leaves no database behind', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'svc.json');
  writeFileSync(file, '{"storage": {"path": "svc.db"}, "channels": []}', { mode: 0o600 });
  const { code, err } = await outcomeOf(['serve', '--config', file]);
  assert.equal(code, 78, err);
  assert.deepEqual(readdirSync(folder.path), ['svc.json']);
});
