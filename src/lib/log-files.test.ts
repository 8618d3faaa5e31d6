import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  readdirSync,
  statSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLog } from './log.ts';
import { logFileIn, openLogFiles } from './log-files.ts';

function stage(bytesMax = 10, filesMax = 3) {
  const made = mkdtempDisposableSync(join(tmpdir(), 'svc-log-files-'));
  const folder = join(made.path, 'deep', 'log');
  const options = { folder, name: 'svc', bytesMax, filesMax };
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  return { folder, options, read, [Symbol.dispose]: () => made.remove() };
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('a full file becomes the one before, and the oldest is gone', () => {
  using staged = stage();
  const { folder, options, read } = staged;
  using stream = openLogFiles(options);
  for (const line of ['one-----\n', 'two-----\n', 'three---\n', 'four----\n']) stream.write(line);
  assert.deepEqual(readdirSync(folder).toSorted(), ['svc.1.log', 'svc.2.log', 'svc.log']);
  assert.deepEqual(
    [read('svc.log'), read('svc.1.log'), read('svc.2.log')],
    ['four----\n', 'three---\n', 'two-----\n'],
  );
});

test('what is written is there at once, and the next process goes on behind it', () => {
  using staged = stage(1_000);
  const { options, read } = staged;
  {
    using first = openLogFiles(options);
    first.write('one\n');
    assert.equal(read('svc.log'), 'one\n');
  }
  using second = openLogFiles(options);
  second.write('two\n');
  assert.equal(read('svc.log'), 'one\ntwo\n');
});

test('a chunk that is larger than a file has one of its own', () => {
  using staged = stage();
  using stream = openLogFiles(staged.options);
  stream.write('a\n');
  stream.write('b'.repeat(50));
  stream.write('c\n');
  assert.equal(staged.read('svc.2.log'), 'a\n');
  assert.equal(staged.read('svc.1.log'), 'b'.repeat(50));
  assert.equal(staged.read('svc.log'), 'c\n');
});

test('this user alone can read them, whoever made them before', () => {
  using staged = stage();
  const { folder, options } = staged;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  writeFileSync(logFileIn(folder, 'svc'), '', { mode: 0o644 });
  using stream = openLogFiles(options);
  for (let count = 0; count < 2; count++) stream.write('12345678\n');
  assert.equal(modeOf(folder), 0o700);
  assert.equal(readdirSync(folder).length, 2);
  for (const file of readdirSync(folder)) assert.equal(modeOf(join(folder, file)), 0o600);
});

test('a file that cannot be moved is begun anew: the bound counts more', () => {
  using staged = stage();
  const { folder, options, read } = staged;
  using stream = openLogFiles(options);
  stream.write('one-----\n');
  mkdirSync(join(folder, 'svc.1.log', 'in-the-way'), { recursive: true });
  mkdirSync(join(folder, 'svc.2.log'), { recursive: true });
  stream.write('two-----\n');
  assert.equal(read('svc.log'), 'two-----\n');
});

test('a folder that goes and comes again costs the lines in between, and no more', async () => {
  using staged = stage();
  const { folder, options, read } = staged;
  using stream = openLogFiles(options);
  const log = createLog({ stream, level: 'info', format: 'json', now: () => 0 });
  log.warn('first', 'It is there.');
  rmSync(folder, { recursive: true });
  log.warn('lost', 'It is gone.');
  await log.flush();
  mkdirSync(folder);
  log.warn('again', 'It is there again.');
  assert.match(read('svc.log'), /^\{.*"code":"again".*\}\n$/);
});

test('a folder that cannot be made is told at once', () => {
  using staged = stage();
  const { folder, options } = staged;
  mkdirSync(join(folder, '..'), { recursive: true });
  writeFileSync(folder, '');
  assert.throws(() => openLogFiles(options), { code: 'EEXIST' });
});
