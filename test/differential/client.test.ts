/** The plain client decides as undici does: same bytes, same result, same fate of a connection. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runs } from '../runs.ts';
import { differ } from './client.ts';
import { differencesOf } from './client-compare.ts';
import { bases, corpus } from './client-corpus.ts';
import type { Case } from './client-sides.ts';

const endings = ['open', 'end', 'reset'] as const;

/** However it ends; and what is read at once, or of which no body is wanted, where it ends. */
const casesOf = (reads: readonly Buffer[]): readonly Case[] => [
  ...endings.map((ending) => ({ reads, ending })),
  { reads, ending: 'end', atOnce: true },
  { reads, ending: 'end', slowLoad: true },
  { reads, ending: 'reset', slowLoad: true },
  { reads, ending: 'end', discardBody: true, bodyBytesMax: 3 },
];

test('of every answer by which parsers are told apart they make the same', async () => {
  const cases = corpus.flatMap((bytes) => casesOf(cutIn(bytes, bytes.length)));
  assert.deepEqual(await differencesOf(cases.length, (at) => cases[at]!), []);
});

test('so they do where an answer is cut in two at any byte', async () => {
  const cases = bases.flatMap((bytes) =>
    Array.from(bytes, (_, at) => casesOf(cutIn(bytes, at)).slice(0, 6)).flat(),
  );
  assert.deepEqual(await differencesOf(cases.length, (at) => cases[at]!), []);
});

test('so they do with answers at random', async () => {
  const seed = Number(process.env['SEED'] ?? 17);
  assert.deepEqual(await differ(runs(20_000), seed), [], `seed ${seed}`);
});

test('so they do with what is long', async () => {
  const head = 'HTTP/1.1 200 OK\r\n';
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
  const long = 'x'.repeat(300_000);
  const all = [
    `${head}Content-Length: ${long.length}\r\n\r\n${long}`,
    `${chunked}${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`,
    `${chunked}${`4000\r\n${'y'.repeat(0x4000)}\r\n`.repeat(18)}0\r\n\r\n`,
    `${chunked}${'1\r\nz\r\n'.repeat(50_000)}0\r\nX-T: a\r\n\r\n`,
    `${chunked}1;${'a'.repeat(270_000)}\r\nz\r\n0\r\n\r\n`,
    `HTTP/1.1 103 Early\r\nX-A: ${'b'.repeat(20_000)}\r\n\r\n`.repeat(15),
  ].map((text) => Buffer.from(text, 'latin1'));
  // More beside the body than it may come to, in whole chunks.
  const wrapped = Buffer.from('0000001\r\nz\r\n'.repeat(5_000));
  const flood = [Buffer.from(chunked), ...Array.from({ length: 15 }, () => wrapped)];
  const cases = all.flatMap((bytes) =>
    [1_000_000, 100_000].flatMap((bodyBytesMax) =>
      endings.map((ending): Case => ({ reads: cutIn(bytes, 100), ending, bodyBytesMax })),
    ),
  );
  cases.push({ reads: flood, ending: 'open' });
  assert.deepEqual(await differencesOf(cases.length, (at) => cases[at]!), []);
});

/** In two at a byte, and wherever a read would be too long. */
function cutIn(bytes: Buffer, at: number): readonly Buffer[] {
  const readMax = 64 * 1024;
  return [bytes.subarray(0, at), bytes.subarray(at)].flatMap((part) =>
    Array.from({ length: Math.ceil(part.length / readMax) }, (_, read) =>
      part.subarray(read * readMax, (read + 1) * readMax),
    ),
  );
}
