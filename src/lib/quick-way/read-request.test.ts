import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeReading, readAlike } from '../../../test/chaos/quick-way/node-reading.ts';
import { good, goodBody, plain, whole } from '../../../test/chaos/quick-way/requests.ts';
import { seeded } from '../../../test/chaos/proof.ts';
import { runs } from '../../../test/runs.ts';
import { readRequest } from './read-request.ts';

const read = (text: string) => readRequest(Buffer.from(text, 'latin1'));
const withLines = (...lines: string[]) => read(whole(good(goodBody, lines)));

test('a plain request is read with its target, its headers and its body', () => {
  const request = read(whole(good(goodBody, ['X-One: a b', 'x-two:c'])));
  assert.equal(request?.url, '/webhook');
  assert.equal(request.headers['x-one'], 'a b');
  assert.equal(request.headers['x-two'], 'c');
  assert.equal(request.headers['content-length'], String(goodBody.length));
  assert.equal(request.body.toString(), goodBody);
});

test('what clients of many kinds send is plain, and node:http reads it so', async () => {
  const node = new NodeReading();
  const random = seeded(Number(process.env['SEED'] ?? 1));
  for (let run = 0; run < runs(300); run++) {
    const text = whole(plain(random));
    assert.ok(await readAlike(node, Buffer.from(text, 'latin1')), text);
  }
});

test('a header that means more than it says is left to node:http', () => {
  assert.ok(withLines('connection: Keep-Alive', 'keep-alive: timeout=5'));
  for (const line of [
    'Transfer-Encoding: chunked',
    'Expect: 100-continue',
    'Upgrade: h2c',
    'Connection: close',
    'Connection: keep-alive, upgrade',
    'Proxy-Connection: close',
    'Trailer: x',
    'TE: trailers',
    'HTTP2-Settings: x',
    'Set-Cookie: a=b',
    'x: a\r\n folded',
    'x: a ',
    'x:',
    'x: ä',
    'Host: again',
    'x: a\r\nX: b',
  ]) {
    assert.equal(withLines(line), null, line);
  }
});

test('of a body that has not come whole, it is said how much is missing', () => {
  const text = whole(good());
  const head = text.length - goodBody.length;
  for (let at = 0; at <= text.length; at++) {
    const request = read(text.slice(0, at));
    if (at < head) assert.equal(request, null, `${at}`);
    else assert.equal(request?.missingBytes, text.length - at);
  }
});

test('a body that goes on, or that has no plain length, is left to node:http', () => {
  const text = whole(good());
  for (const more of [' ', '\r\n', text]) {
    assert.equal(read(text + more), null, more);
    assert.equal(read(more + text), null, more);
  }
  const swapped = text.replace(`${goodBody.length}`, `${goodBody.length + 2}`);
  assert.equal(read(`\r\n${swapped}`), null, 'as long as it says, from the second line on');
  for (const length of [
    '',
    '0',
    '00',
    '+34',
    '034',
    '34, 34',
    '0x22',
    '34.0',
    '33',
    '9'.repeat(30),
  ]) {
    assert.equal(read(text.replace(/(content-length: ).*/, `$1${length}`)), null, length);
  }
});

test('only a POST of HTTP/1.1 to a path goes, with one host, and a head of a common size', () => {
  const text = whole(good());
  assert.equal(read(text.replace('POST', 'PUT')), null);
  assert.equal(read(text.replace('HTTP/1.1', 'HTTP/1.0')), null);
  assert.equal(read(text.replace(' /webhook', ' http://svc/webhook')), null);
  assert.equal(read(text.replace('host: svc\r\n', '')), null);
  assert.equal(read(text.replaceAll('\r\n', '\n')), null);
  assert.ok(withLines(`x: ${'y'.repeat(3_000)}`));
  assert.equal(withLines(`x: ${'y'.repeat(4_000)}`), null);
  const many = Array.from({ length: 61 }, (_, index) => `x-${index}: y`);
  assert.equal(withLines(...many), null);
  assert.ok(withLines(...many.slice(1)));
});
