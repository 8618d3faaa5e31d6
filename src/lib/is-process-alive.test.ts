import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { isProcessAlive, isProcessAliveWith } from './holders.ts';

const onLinux = process.platform === 'linux';

test('a process is known by its id, and by a word that it was begun with', async () => {
  const program = 'setInterval(() => {}, 1e9); console.log(1)';
  const words = ['-e', program, 'a-word-of-its-own'];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  const [pid, ended] = [child.pid!, once(child, 'exit')];
  try {
    // For a moment after the start, its command line is not readable.
    await once(child.stdout, 'data');
    assert.ok(isProcessAlive(pid));
    assert.ok(isProcessAliveWith('a-word-of-its-own', pid));
    assert.equal(isProcessAliveWith('another-word', pid), !onLinux);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  assert.equal(isProcessAlive(pid), false);
  assert.equal(isProcessAliveWith('a-word-of-its-own', pid), false);
});
