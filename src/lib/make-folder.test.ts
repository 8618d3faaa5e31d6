import assert from 'node:assert/strict';
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../test/support/program.ts';
import { makeFolder, makeFolderSync } from './make-folder.ts';

/**
 * Runs both functions and compares them.
 * @returns the system's code; null: the folder was made
 */
async function make(folder: string): Promise<string | null> {
  const codes: (string | null)[] = [];
  const note = (error: unknown): void => void codes.push((error as NodeJS.ErrnoException).code!);
  try {
    makeFolderSync(folder, 0o700);
    codes.push(null);
  } catch (error) {
    note(error);
  }
  await makeFolder(folder, 0o700).then(() => void codes.push(null), note);
  assert.equal(codes[0], codes[1]);
  return codes[0]!;
}

test('all folders on the way are made, with that mode; what is there keeps its own', async () => {
  await using base = await scratch();
  mkdirSync(join(base.path, 'a'), { mode: 0o755 });
  const folder = join(base.path, 'a', 'b', 'c');
  assert.equal(await make(folder), null);
  const modes = ['a', 'a/b', 'a/b/c'].map((one) => statSync(join(base.path, one)).mode & 0o777);
  if (platform() !== 'win32') assert.deepEqual(modes, [0o755, 0o700, 0o700]);
  await makeFolder(join(base.path, 'd', 'e'));
  assert.ok(statSync(join(base.path, 'd', 'e')).isDirectory());
});

test('a file on the way, or a link to nowhere, is an error', async () => {
  await using base = await scratch();
  writeFileSync(join(base.path, 'file'), '');
  symlinkSync(join(base.path, 'nowhere'), join(base.path, 'link'));
  assert.equal(await make(join(base.path, 'file')), 'EEXIST');
  assert.equal(await make(join(base.path, 'file', 'a', 'b')), 'ENOTDIR');
  assert.equal(await make(join(base.path, 'link', 'a', 'b')), 'EEXIST');
});

const noProc = platform() !== 'linux' && 'there is no /proc';
test('where the system lets nothing be made it is an error, too', { skip: noProc }, async () => {
  assert.equal(await make('/proc/svc'), 'ENOENT');
  assert.equal(await make('/proc/svc/data/more'), 'ENOENT');
});
