/** The plain client decides as undici does: same bytes, same result, same fate of the connection. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differencesOf } from './client-compare.ts';
import { bases, corpus } from './client-corpus.ts';
import type { Case } from './client-sides.ts';

const endings = ['open', 'end', 'reset'] as const;

test('of every answer by which parsers are told apart they make the same', async () => {
  const cases = corpus.flatMap((bytes) =>
    endings.flatMap((ending) => [
      { reads: cutIn(bytes, bytes.length), ending },
      { reads: cutIn(bytes, bytes.length), ending, discardBody: true, bodyBytesMax: 3 },
    ]),
  );
  assert.deepEqual(await differencesOf(cases.length, (at) => cases[at]!), []);
});

test('so they do where an answer is cut in two at any byte', async () => {
  const cases = bases.flatMap((bytes) =>
    Array.from({ length: bytes.length }, (_, at) =>
      endings.map((ending): Case => ({ reads: cutIn(bytes, at), ending })),
    ).flat(),
  );
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
