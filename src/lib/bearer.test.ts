import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { bearerOf, createTokenCheck } from './bearer.ts';
import { createServer } from './node-http.ts';

const secret = 'pässwort-of-the-tests';

/** The bearer that a server reads from exactly these bytes. */
async function readFrom(head: string): Promise<string | null> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const read = new Promise<string | null>((resolve) => {
    server.on('request', (request, response) => {
      resolve(bearerOf(request));
      response.end();
    });
  });
  const { port } = server.address() as AddressInfo;
  connect(port, '127.0.0.1').resume().end(`GET / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
  const token = await read;
  server.close();
  return token;
}

test('the token is what follows the scheme, however that is written', async () => {
  assert.equal(await readFrom('Authorization: Bearer abc'), 'abc');
  assert.equal(await readFrom('AUTHORIZATION:bearer   abc '), 'abc');
  assert.equal(await readFrom('Authorization: Basic abc'), null);
  assert.equal(await readFrom('Authorization: Bearer'), null);
  assert.equal(await readFrom('X-Nothing: here'), null);
  assert.equal(await readFrom('Authorization: Bearer a\r\nauthorization: Bearer a'), null);
});

test('only the secret itself is right, also with characters beyond ASCII', async () => {
  const isRight = createTokenCheck(secret);
  assert.equal(isRight((await readFrom(`Authorization: Bearer ${secret}`))!), true);
  for (const wrong of [
    '',
    secret.slice(1),
    `${secret} `,
    secret.toUpperCase(),
    'x'.repeat(9_999),
  ]) {
    assert.equal(isRight(wrong), false, wrong);
  }
});

test('a check does not show its secret when it is printed', () => {
  const isRight = createTokenCheck(secret);
  const shown = inspect({ isRight }, { depth: 9, showHidden: true }) + JSON.stringify({ isRight });
  assert.ok(!shown.includes(secret));
});
