/** The library drops a socket during its handshake, and the socket fails later. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import * as library from '@discordjs/ws';
import { contain } from './contained-shard.ts';

test('a handshake that is given up and breaks off afterwards ends no process', async () => {
  const server = createServer();
  const arrived = once(server, 'connection') as Promise<[Socket]>;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let asked = 0;
  const never = new Promise<null>(() => {});
  const options = {
    ...library.DefaultWebSocketManagerOptions,
    token: 'token',
    intents: 0 as const,
    version: '10',
    encoding: library.Encoding.JSON,
    compression: null,
    handshakeTimeout: null,
    helloTimeout: 1,
    shardCount: 1,
    gatewayInformation: { url: `ws://127.0.0.1:${port}` },
  } as unknown as Options;
  const shard = new library.WebSocketShard(
    {
      options,
      // Waits here for ever before it connects a second time.
      retrieveSessionInfo: () => (asked++ === 0 ? null : never),
      updateSessionInfo: () => {},
      waitForIdentify: () => Promise.resolve(),
    },
    0,
  );
  const faults: unknown[] = [];
  contain(shard, (error) => faults.push(error));
  const givenUp = Promise.withResolvers<void>();
  shard.on('debug', (text) => {
    if (text.startsWith('Connection status during destroy')) givenUp.resolve();
  });
  shard.connect().catch(() => {});
  const [socket] = await arrived;
  await givenUp.promise;
  const connection = shard['connection'];
  assert.ok(connection !== null && connection.readyState === connection.CONNECTING);
  assert.equal(connection.onerror, null, 'the library hears it no more');
  const closed = Promise.withResolvers<void>();
  connection.once('close', () => closed.resolve());
  socket.resetAndDestroy();
  await closed.promise;
  assert.deepEqual(faults, []);
  server.close();
  await once(server, 'close');
});

type Options = ConstructorParameters<typeof library.WebSocketShard>[0]['options'];
