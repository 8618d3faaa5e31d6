/** Whether a configuration could listen at its addresses, without losing a connection. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { demoConfig } from '../../cli/demo/demo.ts';
import { createListeners } from '../../lib/listener.ts';
import type { EnvName } from '../../config/secret-value.ts';
import { listeningLines } from './preflight.ts';

const at = (webhookPort: number) => {
  const ports = { webhookPort, receiverPort: 2, adminPort: 3, modelPort: null };
  return demoConfig({ ...ports, modelId: 'm', storagePath: null }).config;
};

test('an address is free, shared with the service itself, or taken by another', async () => {
  const listeners = createListeners();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const [taken] = await listeningLines(at(port), listeners);
  assert.equal(taken?.mark, 'failed');
  assert.match(taken.message, /^is taken by another program/);
  assert.match(taken.remedy ?? '', /webhook\.bind/);
  other.close();
  await once(other, 'close');
  const [free] = await listeningLines(at(port), listeners);
  assert.equal(free?.mark, 'ok');
  const config = at(port);
  const [channel] = config.channels;
  assert.ok(channel !== undefined && 'bind' in channel);
  const held = await listeners.take(channel.bind);
  assert.equal(held.kind, 'held');
  const [own] = await listeningLines(config, listeners);
  assert.equal(own?.mark, 'ok');
  if (held.kind === 'held') await held.release(0);
  assert.deepEqual(await listeningLines({ ...config, routes: [] }, listeners), []);
  const completions = {
    bind: channel.bind,
    tokenEnv: 'API_TOKEN' as EnvName,
    brains: [],
    inFlightMax: 1,
    requestsPerMinute: null,
  };
  const [api] = await listeningLines({ ...config, routes: [], completions }, listeners);
  assert.equal(api?.subject, `completions API at ${channel.bind.text}`);
  assert.equal(api.message, 'can be listened on');
});
