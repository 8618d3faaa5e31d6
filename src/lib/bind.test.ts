import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { test } from 'node:test';
import { listenAt } from './listener.ts';

function bind(place: { host: string; port: number }): Server {
  const server = createServer((socket) => socket.end());
  listenAt(server, place, () => {});
  return server;
}

async function reached(server: Server, host: string): Promise<void> {
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, host).resume();
  await once(socket, 'close');
  server.close();
  await once(server, 'close');
}

for (const host of ['127.0.0.1', '0.0.0.0', 'localhost', '']) {
  test(`a server is reached at ${host === '' ? 'every address' : host}`, async () => {
    await reached(bind({ host, port: 0 }), host === 'localhost' ? 'localhost' : '127.0.0.1');
  });
}

test('an address that is taken, or is not of this machine, is an error of the server', async () => {
  const taken = bind({ host: '127.0.0.1', port: 0 });
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const [busy] = await once(bind({ host: '127.0.0.1', port }), 'error');
  assert.equal(busy.code, 'EADDRINUSE');
  const [elsewhere] = await once(bind({ host: '192.0.2.1', port: 0 }), 'error');
  assert.equal(elsewhere.code, 'EADDRNOTAVAIL');
  taken.close();
  await once(taken, 'close');
});

const skip = 'BoundSocket' in net ? false : 'this Node has no BoundSocket';
test('an IPv4 address is bound without a look-up', { skip }, async () => {
  const dns = process.getBuiltinModule('node:dns');
  const { lookup } = dns;
  let looked = 0;
  const counted = (...given: unknown[]): unknown => {
    looked++;
    return Reflect.apply(lookup, dns, given);
  };
  Object.assign(dns, { lookup: counted });
  try {
    const server = bind({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  } finally {
    Object.assign(dns, { lookup });
  }
  assert.equal(looked, 0);
});
