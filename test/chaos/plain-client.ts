/** The plain client and undici: same bytes, same result, same fate of a connection. */
import assert from 'node:assert/strict';
import { differencesOf } from './plain-client/compare.ts';
import { bases, corpus } from './plain-client/corpus.ts';
import { caseOf } from './plain-client/generator.ts';
import type { Case } from './plain-client/sides.ts';
import type { Proof } from './proof.ts';

const endings = ['open', 'end', 'reset'] as const;

export const plainClient: Proof = {
  name: 'plain-client',
  title: 'The plain client ends as undici does: result, what was sent, connection',
  unit: 'answers',
  sizes: { change: 20_000, nightly: 1_000_000 },
  async run(count, seed, say) {
    const apart = [...toldApart(), ...cutAnswers()];
    await same(apart.length, (at) => apart[at]!);
    const long = longAnswers();
    await same(long.length, (at) => long[at]!);
    say('all that tells parsers apart is tried');
    await same(count, (number) => caseOf(seed, number));
    return { kind: 'proved', figures: { answers: count, 'told apart': apart.length } };
  },
};

async function same(count: number, caseAt: (number: number) => Case): Promise<void> {
  assert.deepEqual(await differencesOf(count, caseAt), []);
}

/** The reads with every ending, and variants: at once, undici loaded late, body discarded. */
const casesOf = (reads: readonly Buffer[]): readonly Case[] => [
  ...endings.map((ending) => ({ reads, ending })),
  { reads, ending: 'end', atOnce: true },
  { reads, ending: 'end', slowLoad: true },
  { reads, ending: 'reset', slowLoad: true },
  { reads, ending: 'end', discardBody: true, bodyBytesMax: 3 },
];

/** All answers of the corpus. */
const toldApart = (): readonly Case[] =>
  corpus.flatMap((bytes) => casesOf(cutIn(bytes, bytes.length)));

/** Answers cut in two at each byte. */
const cutAnswers = (): readonly Case[] =>
  bases.flatMap((bytes) =>
    Array.from(bytes, (_, at) => casesOf(cutIn(bytes, at)).slice(0, 6)).flat(),
  );

function longAnswers(): readonly Case[] {
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
  // The framing in whole chunks exceeds the limit of bytes besides the body.
  const wrapped = Buffer.from('0000001\r\nz\r\n'.repeat(5_000));
  const flood = [Buffer.from(chunked), ...Array.from({ length: 15 }, () => wrapped)];
  const cases = all.flatMap((bytes) =>
    [1_000_000, 100_000].flatMap((bodyBytesMax) =>
      endings.map((ending): Case => ({ reads: cutIn(bytes, 100), ending, bodyBytesMax })),
    ),
  );
  return [...cases, { reads: flood, ending: 'open' }];
}

/** Cuts at a byte, and wherever a read would be too long. */
function cutIn(bytes: Buffer, at: number): readonly Buffer[] {
  const readMax = 64 * 1024;
  return [bytes.subarray(0, at), bytes.subarray(at)].flatMap((part) =>
    Array.from({ length: Math.ceil(part.length / readMax) }, (_, read) =>
      part.subarray(read * readMax, (read + 1) * readMax),
    ),
  );
}
