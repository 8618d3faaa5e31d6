import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { runProgram } from '../../../test/support/run-svc.ts';
import { scratch } from '../../../test/support/program.ts';
import { SecretIndex } from './secret-index.ts';

async function indexIn(home: string): Promise<SecretIndex> {
  return new SecretIndex({ HOME: home, APPDATA: home });
}

async function namesOf(index: SecretIndex): Promise<readonly string[]> {
  const stored = await index.read();
  assert.equal(stored.kind, 'stored');
  return stored.kind === 'stored' ? stored.secrets.map(({ name }) => name) : [];
}

test('names and times are kept, for this user alone, and nothing else is', async () => {
  await using home = await scratch();
  const index = await indexIn(home.path);
  assert.deepEqual(await index.read(), { kind: 'stored', secrets: [] });
  await assert.rejects(stat(dirname(index.file)), 'reading makes nothing');
  const at = Date.UTC(2026, 10, 21);
  assert.deepEqual(await index.add('B_TOKEN', at), { kind: 'done' });
  await index.add('A_TOKEN', at + 1);
  await index.add('B_TOKEN', at + 2);
  assert.deepEqual(await index.read(), {
    kind: 'stored',
    secrets: [
      { name: 'A_TOKEN', setAt: at + 1 },
      { name: 'B_TOKEN', setAt: at + 2 },
    ],
  });
  if (process.platform !== 'win32') {
    assert.equal((await stat(index.file)).mode & 0o777, 0o600);
    assert.equal((await stat(dirname(index.file))).mode & 0o777, 0o700);
  }
  await index.remove('A_TOKEN');
  await index.remove('NEVER_THERE');
  assert.deepEqual(await namesOf(index), ['B_TOKEN']);
  assert.deepEqual(await readdir(dirname(index.file)), ['secrets.json']);
});

test('a broken index is told with a remedy, and stays as it is', async () => {
  await using home = await scratch();
  const index = await indexIn(home.path);
  await mkdir(dirname(index.file), { recursive: true });
  const broken = [
    '',
    '{',
    '[]',
    '{"version":2,"secrets":{}}',
    '{"version":1,"secrets":{"A":{}}}',
    '{"version":1,"secrets":{"no name":{"set_at":"2026-11-21T00:00:00.000Z"}}}',
    'x'.repeat(1_048_577),
  ];
  for (const text of broken) {
    await writeFile(index.file, text);
    for (const answer of [await index.read(), await index.add('A', 1), await index.remove('A')]) {
      assert.equal(answer.kind, 'fault', text.slice(0, 80));
      const { message = '', remedy = '' } = answer as { message?: string; remedy?: string };
      assert.match(message, /secrets\.json/);
      assert.match(remedy, /svc secrets set/);
    }
    assert.equal(await readFile(index.file, 'utf8'), text);
  }
  assert.deepEqual(await readdir(dirname(index.file)), ['secrets.json']);
});

const skip = process.platform === 'win32' && 'Windows has no pipes in folders';
test('an index that is a pipe is told, and not waited for', { skip }, async () => {
  await using home = await scratch();
  const index = await indexIn(home.path);
  await index.add('A', 1);
  await rm(index.file);
  execFileSync('mkfifo', [index.file]);
  for (const answer of [await index.read(), await index.add('B', 2)]) {
    assert.match(JSON.stringify(answer), /is a folder, a pipe or a device; it was left as it is/);
  }
});

test('a folder that cannot be used is a fault with its reason', async () => {
  await using home = await scratch();
  const index = await indexIn(home.path);
  const folder = dirname(index.file);
  await mkdir(dirname(folder), { recursive: true });
  await writeFile(folder, 'a file where the folder should be');
  assert.deepEqual(await index.read(), { kind: 'stored', secrets: [] });
  const added = await index.add('A', 1);
  assert.match(JSON.stringify(added), /cannot be written \(E(EXIST|NOTDIR)\)/);
});

test('writers in one process and in others lose nothing', async () => {
  await using home = await scratch();
  const index = await indexIn(home.path);
  const script = join(import.meta.dirname, '../../../test/fixtures/index-writer.ts');
  const env = { HOME: home.path, APPDATA: home.path, XDG_CONFIG_HOME: undefined };
  const others = ['P', 'Q'].map((letter) =>
    runProgram(process.execPath, [script, letter], { env }),
  );
  const own = Array.from({ length: 10 }, (_, at) => index.add(`OWN_${at}`, at));
  for (const done of await Promise.all(own)) assert.deepEqual(done, { kind: 'done' });
  for (const other of others) assert.equal((await other.ended).code, 0, other.err());
  assert.equal((await namesOf(index)).length, 30);
  assert.deepEqual(await readdir(dirname(index.file)), ['secrets.json']);
});

test('what a crash left behind does not keep the next from writing', async () => {
  await using home = await scratch();
  const index = await indexIn(home.path);
  await index.add('A', 1);
  const left = join(dirname(index.file), '.secrets.json.new');
  await writeFile(left, '{"version":1,"secr');
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(left, longAgo, longAgo);
  assert.deepEqual(await index.add('B', 2), { kind: 'done' });
  assert.deepEqual(await namesOf(index), ['A', 'B']);
});
