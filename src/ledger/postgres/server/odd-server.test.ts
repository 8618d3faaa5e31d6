/** A server that sends what the library does not know: only the connection ends. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect } from './connect.ts';

/** A protocol message: its type, its length, and its content. */
function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(4 + body.length), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const ready = message('Z', Buffer.from('I'));
const signedIn = Buffer.concat([message('R', int32(0)), ready]);
/** It announces more columns than it describes. */
const damaged = message('T', Buffer.from([0, 9, 1]));

/** Two columns of type boolean, in which both are false. */
function writable(): Buffer {
  const column = (name: string): Buffer[] => [
    Buffer.from(`${name}\0`),
    Buffer.alloc(6),
    int32(16),
    Buffer.from([0, 1]),
    int32(-1),
    Buffer.alloc(2),
  ];
  const columns = [...column('standby'), ...column('reading')];
  const no = [int32(1), Buffer.from('f')];
  return Buffer.concat([
    message('T', Buffer.from([0, 2]), ...columns),
    message('D', Buffer.from([0, 2]), ...no, ...no),
    message('C', Buffer.from('SELECT 1\0')),
    ready,
  ]);
}

/** @param answers sent in turn, one for each message that arrives */
async function startServer(answers: readonly Buffer[]) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    const left = [...answers];
    socket.on('error', () => {});
    socket.on('data', () => {
      const next = left.shift();
      if (next !== undefined) socket.write(next);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://svc@127.0.0.1:${port}/x?sslmode=disable`,
    sockets,
    async [Symbol.asyncDispose](): Promise<void> {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const gssapi = 7;

test('a server that wants another way to sign in is told so, and ends no process', async () => {
  await using server = await startServer([message('R', int32(gssapi))]);
  await assert.rejects(connect(server.url), /authentication\w+ message type 7/);
});

test('a damaged answer rejects its question', async () => {
  await using server = await startServer([signedIn, damaged]);
  await assert.rejects(connect(server.url), /out of range/);
});

test('a damaged message that nobody asked for ends its connection', async () => {
  await using server = await startServer([signedIn, writable()]);
  const client = await connect(server.url);
  const ended = Promise.withResolvers<void>();
  client.once('end', () => ended.resolve());
  server.sockets[0]!.write(damaged);
  await ended.promise;
  await assert.rejects(client.query('SELECT 1'));
});
