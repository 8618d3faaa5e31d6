/** Texts that the server would refuse come back as they were, and stay distinct. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { newDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import { runs } from '../../../../test/support/runs.ts';
import { connect } from './connect.ts';
import { fromText, toText } from './text.ts';

/** Any UTF-16, with the special signs more often than by chance. */
const anyText = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.constantFrom('\0', '\uE000', '\uD83D', '\uDE00', '0000', 'e000', 'd83d', 'a', '😀'),
    ),
  )
  .map((parts) => parts.join(''));

test('every text comes back as it was', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = toText(text);
      assert.ok(stored.isWellFormed() && !stored.includes('\0'));
      assert.equal(fromText(stored), text);
    }),
    { numRuns: runs(300) },
  );
});

test('different texts stay different, also where one looks like what another becomes', () => {
  const texts = ['\0', '\uE0000000', '\uE000', '\uE000e000', '\uD83D', '\uE000d83d', '\uDE00', ''];
  assert.equal(new Set(texts.map(toText)).size, texts.length);
});

test('an ordinary text is stored as it is', () => {
  for (const text of ['', 'Grüße 😀', 'a\nb\t\u0001\uFFFF']) assert.equal(toText(text), text);
});

postgresTest(
  'a server takes them as a parameter and in rows of JSON, and gives them back',
  async () => {
    const client = await connect(await newDatabase());
    try {
      const asParameter = 'SELECT $1::text AS text';
      const inRows = 'SELECT text FROM json_to_recordset($1::json) AS x (text text)';
      await fc.assert(
        fc.asyncProperty(anyText, async (text) => {
          const stored = toText(text);
          const answers = await Promise.all([
            client.query<{ text: string }>(asParameter, [stored]),
            client.query<{ text: string }>(inRows, [JSON.stringify([{ text: stored }])]),
          ]);
          for (const { rows } of answers) assert.equal(fromText(rows[0]!.text), text);
        }),
        { numRuns: runs(100) },
      );
    } finally {
      await client.end();
    }
  },
);
