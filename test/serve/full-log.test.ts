/** The disk of the log is full. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { freePort, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { launcher } from '../support/run-svc.ts';

const full = '/dev/full';
const skip = !existsSync(full) && 'there is no /dev/full here';

test('a service whose log finds no room works on, and ends in order', { skip }, async () => {
  await using folder = await scratch();
  const asked = Promise.withResolvers<'asked'>();
  // Only a working service asks for the models.
  const models = createServer((_request, response) => {
    asked.resolve('asked');
    response.writeHead(404).end();
  });
  models.listen(0, '127.0.0.1');
  await once(models, 'listening');
  const { port } = models.address() as AddressInfo;
  const where = {
    port: await freePort(),
    adminPort: await freePort(),
    modelUrl: `http://127.0.0.1:${port}`,
    receiverUrl: 'http://127.0.0.1:1/',
  };
  const config = await writeConfig(folder.path, webhookConfig(where));
  const log = openSync(full, 'w');
  const child = spawn(process.execPath, [launcher, 'serve', '--config', config], {
    stdio: ['ignore', 'ignore', log],
    env: {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      HOME: folder.path,
      WEBHOOK_SECRET: secret,
    },
  });
  closeSync(log);
  const ended = once(child, 'exit');
  const first = await Promise.race([asked.promise, ended]);
  models.close();
  models.closeAllConnections();
  assert.equal(first, 'asked');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});
