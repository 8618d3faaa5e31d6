/** When the end of a window's process is known. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { startChild } from './child.ts';

const env = { PATH: process.env['PATH'] ?? '' };

test('an end without a fault is known at once, whoever still has the pipe', async (t) => {
  await using folder = await scratch();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const fifo = join(folder.path, 'fifo');
  const { ended } = startChild('sh', ['-c', 'mkfifo "$0"; cat "$0" & exit 0', fifo], env);
  assert.deepEqual(await ended, { code: 0, how: 'ended with 0', stderr: '' });
  // Ends the grandchild.
  writeFileSync(fifo, '');
});

test('a failure is told with what the process said last', async () => {
  const { ended } = startChild('sh', ['-c', 'echo no display >&2; exit 3'], env);
  assert.deepEqual(await ended, { code: 3, how: 'ended with 3', stderr: 'no display\n' });
});
