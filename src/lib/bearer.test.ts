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

test('a secret of any length has its own check', () => {
  for (const length of [1, 2, 32, 509, 510, 511, 512, 1_020, 2_000]) {
    const right = 'ab'.repeat(length).slice(0, length);
    const isRight = createTokenCheck(right);
    assert.equal(isRight(right), true, `${length}`);
    const wrongs = [
      '',
      right.slice(1),
      right.slice(0, -1),
      `${right}a`,
      `${right}\0`,
      `${right}${'b'.repeat(600)}`,
      right.replace(/.$/, 'c'),
      right.replace(/^./, 'c'),
    ];
    for (const wrong of wrongs) assert.equal(isRight(wrong), false, `${length}: ${wrong.length}`);
    assert.equal(isRight(right), true, `${length}, after longer ones`);
  }
});

test('bytes that mean nothing are no padding, and no character counts as another', () => {
  assert.equal(createTokenCheck('a')('a\0'), false);
  assert.equal(createTokenCheck('a\0')('a'), false);
  assert.equal(createTokenCheck('a\0')('a\0'), true);
  const isRight = createTokenCheck('1');
  assert.equal(isRight('\u0131'), false, 'its low byte is that of 1');
  assert.equal(isRight('1'), true);
});

test('a secret beyond ASCII is right as UTF-8 bytes, and not as latin1', () => {
  for (const [text, count] of [
    ['ä', 1],
    ['ä', 255],
    ['ä', 256],
    ['😀', 127],
    ['😀', 128],
  ] as const) {
    const utf8 = Buffer.from(text.repeat(count)).toString('latin1');
    const isRight = createTokenCheck(text.repeat(count));
    assert.equal(isRight(utf8), true, `${text} ${count}`);
    assert.equal(isRight(text.repeat(count)), false, `${text} ${count}`);
  }
});

test('a check does not show its secret when it is printed', () => {
  const isRight = createTokenCheck(secret);
  const shown = inspect({ isRight }, { depth: 9, showHidden: true }) + JSON.stringify({ isRight });
  assert.ok(!shown.includes(secret));
});
