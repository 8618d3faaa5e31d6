import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { scratch } from '../../test/support/program.ts';
import { startThread } from './program.ts';

test('a thread is started from its file, with what it is given', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'thread.mjs');
  const lines = [
    "import { parentPort, workerData } from 'node:worker_threads';",
    'parentPort.postMessage([import.meta.url, workerData]);',
  ];
  writeFileSync(file, lines.join('\n'));
  const thread = startThread(pathToFileURL(file), { workerData: 'given' });
  const [message] = (await once(thread, 'message')) as [unknown];
  assert.deepEqual(message, [pathToFileURL(file).href, 'given']);
  await thread.terminate();
});

test('no other file starts a thread or this Node, which a program of one file could not', () => {
  const root = join(import.meta.dirname, '..', '..');
  const sources = globSync('src/**/*.ts', { cwd: root }).filter((file) => {
    return !file.endsWith('.test.ts');
  });
  assert.ok(sources.length > 100, 'the sources were found');
  const naming = (word: string): readonly string[] => {
    return sources.filter((file) => readFileSync(join(root, file), 'utf8').includes(word));
  };
  assert.deepEqual(naming('new Worker('), ['src/lib/program.ts']);
  assert.deepEqual(naming('process.execPath'), ['src/lib/program.ts']);
});
