/** Connections only to near addresses, with names that resolve to any address. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startNameServer } from '../../test/fake/name-server.ts';
import { ownHost } from '../../test/fake/own-host.ts';
import { patienceMs } from '../../test/support/waiting.ts';

const names: Readonly<Record<string, readonly string[]>> = {
  'home.test': ['127.0.0.1'],
  // Nothing listens at the first of them.
  'both.test': ['::1', '127.0.0.1'],
  'mixed.test': ['203.0.113.9', '8.8.8.8', '2606:4700::1111', '127.0.0.1'],
  'far.test': ['8.8.8.8', '2606:4700::1111'],
  'odd.test': ['169.254.169.254', 'fe80::1'],
};

type Said = readonly [what: string, sent: boolean, code: string | null];

type Answer = (name: string, times: number) => readonly string[];

/**
 * The result of a request to each host, in this order, with one client: the same with both kinds.
 */
async function ask(
  hosts: readonly string[],
  answer: Answer,
  nearOnly: readonly boolean[] = [true],
) {
  const told = await askBy(true, hosts, answer, nearOnly);
  assert.deepEqual(told, await askBy(false, hosts, answer, nearOnly));
  return told;
}

async function askBy(
  plain: boolean,
  hosts: readonly string[],
  answer: Answer,
  nearOnly: readonly boolean[],
) {
  await using nameServer = await startNameServer(answer);
  const server = createServer((_request, response) => response.end('here'));
  let connections = 0;
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const program = `
    import { createDeadlines } from './deadlines.ts';
    import { createHttpClient } from './http-client.ts';
    const bounds = { connectMs: ${patienceMs}, plain: ${plain} };
    const client = createHttpClient(createDeadlines(), bounds);
    const said = [];
    const asked = ${JSON.stringify(hosts)}.flatMap((host) =>
      ${JSON.stringify(nearOnly)}.map((nearOnly) => [host, nearOnly]));
    for (const [host, nearOnly] of asked) {
      const result = await client.send({
        method: 'GET', url: new URL('http://' + host + ':${port}/'), headers: {}, body: null,
        deadlineAt: performance.now() + ${patienceMs}, bodyBytesMax: 100, nearOnly,
      });
      said.push([result.body ?? result.fault, result.sent ?? true, result.code ?? null]);
      await new Promise(setImmediate);
    }
    process.stdout.write(JSON.stringify(said));
    await client.close();`;
  const ownNames = new URL('../../test/fake/own-names.ts', import.meta.url).href;
  const args = ['--input-type=module-typescript', '--import', ownNames, '-e', program];
  const env = { ...process.env, OWN_NAME_SERVER: nameServer.place };
  const options = { cwd: import.meta.dirname, env };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  server.closeAllConnections();
  server.close();
  return { said: JSON.parse(stdout) as readonly Said[], connections, asked: nameServer.asked };
}

const here = ['here', true, null];
const far = ['connect_failed', false, 'SVC_FAR_ADDRESS'];

test('a name is connected to at its near addresses, and at no other', async () => {
  const { said } = await ask(Object.keys(names), (name) => names[name] ?? []);
  assert.deepEqual(said, [here, here, here, far, far]);
});

test('an address is judged as it is written, in any spelling', async () => {
  const refused = ['8.8.8.8', '0x08.8.8.8', '134744072', '169.254.169.254', '[2606:4700::1111]'];
  const all = [...refused, '[::ffff:8.8.8.8]', '[fe80::1]', '127.0.0.1', '2130706433', '0.0.0.0'];
  const { said } = await ask(all, () => []);
  assert.deepEqual(said, [far, far, far, far, far, far, far, here, here, here]);
});

test('a connection is judged when it is made, and used again without another look', async () => {
  const flips = (_name: string, times: number): readonly string[] =>
    times === 0 ? ['127.0.0.1'] : ['8.8.8.8'];
  const { said, connections, asked } = await ask(['flip.test', 'flip.test'], flips);
  assert.deepEqual(said, [here, here]);
  assert.deepEqual([connections, asked.length], [1, 2]);
});

test('no connection that went anywhere is used for what must stay near', async () => {
  const flips = (_name: string, times: number): readonly string[] =>
    times === 0 ? ['127.0.0.1'] : ['8.8.8.8'];
  const { said, connections } = await ask(['flip.test'], flips, [false, true]);
  assert.deepEqual(said, [here, far]);
  assert.equal(connections, 1);
});

test('a name that leads nowhere is told as such', async () => {
  const { said } = await ask(['none.test', ownHost], () => []);
  assert.equal(said[0]![0], 'connect_failed');
  assert.notEqual(said[0]![2], 'SVC_FAR_ADDRESS');
});
