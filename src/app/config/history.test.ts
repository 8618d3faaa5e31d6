import assert from 'node:assert/strict';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { revisionOf } from '../../config/inspect.ts';
import { keep, listKept, pruneKept, readKept } from './history.ts';
import { replaceFile } from './saved-file.ts';

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

test('a revision is kept once, as it was saved last', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'svc.json');
  for (const [text, savedAt] of [
    ['one', at],
    ['two', at + 1],
    ['one', at + 2],
  ] as const) {
    await keep(file, text, savedAt);
  }
  assert.deepEqual(await listKept(file), [
    { revision: revisionOf('one'), savedAt: at + 2, bytes: 3 },
    { revision: revisionOf('two'), savedAt: at + 1, bytes: 3 },
  ]);
  assert.equal((await readdir(`${file}.history`)).length, 2);
  await pruneKept(file, revisionOf('one'));
  const left = (await listKept(file)).map(({ revision }) => revision);
  assert.deepEqual(left, [revisionOf('two')], 'the one in use is none of before');
});

test('a text that is no longer what its name says is not served', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'svc.json');
  await keep(file, 'as it was', at);
  const [name] = (await readdir(`${file}.history`)) as [string];
  assert.equal((await readKept(file, revisionOf('as it was')))?.text, 'as it was');
  await writeFile(join(`${file}.history`, name), 'as it was not');
  assert.equal(await readKept(file, revisionOf('as it was')), null);
});

test('what a crash left half written is no hindrance, nor is a link in its place', async () => {
  await using folder = await scratch();
  const [file, other] = [join(folder.path, 'svc.json'), join(folder.path, 'other')];
  await writeFile(file, 'before');
  await writeFile(other, 'of somebody else');
  await symlink(other, join(folder.path, '.svc.json.new'));
  const unchanged = async (): Promise<boolean> => true;
  assert.deepEqual(await replaceFile(file, { text: 'after', unchanged }), { kind: 'saved' });
  assert.equal(await readFile(file, 'utf8'), 'after');
  await keep(file, 'before', at);
  await symlink(other, join(`${file}.history`, '.new'));
  await keep(file, 'between', at + 1);
  assert.equal(await readFile(other, 'utf8'), 'of somebody else');
  assert.equal((await readdir(`${file}.history`)).length, 2);
});

test('a file that changes before the last step stays, and nothing is left beside it', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'svc.json');
  await writeFile(file, 'before');
  const unchanged = async (): Promise<boolean> => {
    await writeFile(file, 'by hand');
    return false;
  };
  assert.deepEqual(await replaceFile(file, { text: 'after', unchanged }), { kind: 'changed' });
  assert.equal(await readFile(file, 'utf8'), 'by hand');
  assert.deepEqual(await readdir(folder.path), ['svc.json']);
});
