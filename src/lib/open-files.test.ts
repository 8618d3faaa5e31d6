import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { patienceMs } from '../../test/support/waiting.ts';
import { connectionsWithin, openFilesMax, openFilesMin, listenLimits } from './listener.ts';

const skip = process.platform !== 'linux' && 'only Linux tells of open files';

/** Opens all the files that it may, and then asks for a connection. */
const program = `
  import { openSync } from 'node:fs';
  import { systemClock, later } from './clock.ts';
  import { createDeadlines } from './deadlines.ts';
  import { createHttpClient } from './http-client.ts';
  import { openFilesMax, reportFileShortage } from './listener.ts';
  const client = createHttpClient(createDeadlines(systemClock.steady), {
    connectMs: ${patienceMs},
  });
  let told = 0;
  const http = reportFileShortage(client, () => told++);
  const request = {
    method: 'GET', url: new URL('http://127.0.0.1:1/'), headers: {}, body: null,
    deadlineAt: later(systemClock.steady(), ${patienceMs}), bodyBytesMax: 1,
  };
  await http.send(request);
  const before = told;
  const max = openFilesMax();
  try { for (;;) openSync('/dev/null'); } catch {}
  const { code } = await http.send(request);
  process._rawDebug(JSON.stringify({ max, code, before, told }));
  process.exit();
`;

test(
  'a process without a file left says so of a connection that it cannot open',
  { skip },
  async () => {
    const line = 'ulimit -n 64; exec "$0" --input-type=module -e "$1"';
    const { stderr } = await promisify(execFile)('sh', ['-c', line, process.execPath, program], {
      cwd: import.meta.dirname,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    });
    const told = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as unknown;
    assert.deepEqual(told, { max: 64, code: 'EMFILE', before: 0, told: 1 });
  },
);

test('this process is told how many it may have, and one that is gone is not', { skip }, () => {
  assert.ok((openFilesMax() ?? 0) > 0);
  assert.equal(openFilesMax(0), null);
});

test('what is enough lets every connection in, and half of what is not is left', () => {
  assert.ok(connectionsWithin(openFilesMin) >= listenLimits.connectionsMax - 12);
  assert.ok(2 * connectionsWithin(256) <= 256 / 2);
  assert.equal(connectionsWithin(10), 4);
});
