/**
 * Which parts of an answer are plain. test/chaos/plain-client.ts proves that both clients read them
 * alike.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnswerHeaders } from '../http-client/exchange.ts';
import { AnswerReader } from './plain-connection.ts';

/** The events of an answer, read by read. */
function eventsOf(...reads: readonly string[]) {
  const reader = new AnswerReader();
  reader.begin();
  const heads: [status: number, headers: AnswerHeaders][] = [];
  let body = '';
  const to = {
    isOver: false,
    head: (status: number, headers: AnswerHeaders) => heads.push([status, headers]),
    part: (part: Buffer) => (body += part.toString()),
  };
  const readings = reads.map((text) => reader.read(Buffer.from(text, 'latin1'), to));
  return { reader, heads, body, readings };
}

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

test('an answer with a length is read as it comes', () => {
  const head = `${ok}Content-Type: text/plain\r\nContent-Length: 5\r\n\r\n`;
  const { readings, heads, body } = eventsOf(`${head}h`, 'el', 'lo');
  assert.deepEqual(readings, ['more', 'more', 'whole']);
  assert.deepEqual(heads, [[200, { 'content-type': 'text/plain', 'content-length': '5' }]]);
  assert.equal(body, 'hello');
});

test('so are chunks, cut anywhere but within the line of one', () => {
  const { readings, body } = eventsOf(
    `${chunked}5\r\nhe`,
    'llo',
    '\r\n',
    '1A\r\n',
    ' '.repeat(25),
    ' ',
  );
  assert.deepEqual(readings, Array(6).fill('more'));
  assert.equal(body.trim(), 'hello');
  assert.deepEqual(eventsOf(chunked, '1\r\na\r\n', '0\r\n\r\nbehind').readings.at(-1), 'whole');
});

test('what is behind an answer is not read', () => {
  const { reader, readings, body } = eventsOf(`${ok}Content-Length: 2\r\n\r\nokbehind`);
  assert.deepEqual([readings, body, reader.at], [['whole'], 'ok', ok.length + 23]);
});

test('no body comes with 204', () => {
  const { readings, heads } = eventsOf('HTTP/1.1 204 No Content\r\n\r\n');
  assert.deepEqual([readings, heads], [['whole'], [[204, {}]]]);
});

test('a hint at how long a connection is kept is read with each answer anew', () => {
  const { reader } = eventsOf(`${ok}Keep-Alive: max=9, timeout=7\r\nContent-Length: 0\r\n\r\n`);
  assert.equal(reader.keepAliveMs, 7_000);
  reader.begin();
  assert.equal(reader.keepAliveMs, null);
});

test('of a head that is odd nothing is told, and all of it is undici’s', () => {
  for (const text of [
    '',
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n',
    'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 103 Early\r\n\r\n',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n',
    `${ok}\r\n`,
    `${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`,
    `${ok}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`,
    `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`,
    `${ok}X-A:  two spaces\r\nContent-Length: 0\r\n\r\n`,
    `${ok}X-A: ${'b'.repeat(20_000)}\r\nContent-Length: 0\r\n\r\n`,
  ]) {
    const { reader, readings, heads } = eventsOf(text);
    assert.deepEqual([readings, heads, reader.at], [['odd'], [], 0], text);
    assert.equal(Buffer.concat(reader.replay).length, 0);
  }
});

test('of an odd chunk undici reads the head again, and then from where it is odd', () => {
  const sized = eventsOf(`${chunked}5\r\nhello\r\n`, '1;a=b\r\nx\r\n').reader;
  assert.deepEqual([String(Buffer.concat(sized.replay)), sized.at], [chunked, 0]);
  assert.equal(sized.replayedBody, 0);
  const ended = eventsOf(`${chunked}5\r\nhelloX`).reader;
  assert.equal(String(Buffer.concat(ended.replay)), `${chunked}1\r\nx`);
  assert.deepEqual([ended.at, ended.replayedBody], [chunked.length + 8, 1]);
});
