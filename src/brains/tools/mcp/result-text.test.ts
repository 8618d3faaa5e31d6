/** The text of a result for the model, by the shapes that servers give it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultOf } from './result-text.ts';

const textOf = (result: object): string => resultOf(result, (text) => text).text;
const text = (said: string): object => ({ type: 'text', text: said });

test('a structure without a text is told as JSON', () => {
  assert.equal(textOf({ content: [], structuredContent: { b: 2, a: [1] } }), '{"a":[1],"b":2}');
  assert.equal(textOf({ structuredContent: [1, 2] }), '[1,2]');
  assert.equal(textOf({ content: [], structuredContent: {} }), '{}');
  assert.equal(textOf({ content: [], structuredContent: { rows: [] } }), '{"rows":[]}');
  assert.equal(textOf({ structuredContent: 'ab' }), '"ab"');
  assert.equal(textOf({ content: [], structuredContent: null }), 'It gave back nothing.');
});

test('a text that says something else does not hide the structure', () => {
  const content = [text('2 rows found.')];
  const structuredContent = { rows: [{ id: 1 }, { id: 2 }] };
  assert.equal(
    textOf({ content, structuredContent }),
    '2 rows found.\n{"rows":[{"id":1},{"id":2}]}',
  );
  const failed = resultOf({ isError: true, content: [], structuredContent }, (one) => one);
  assert.deepEqual(failed, {
    kind: 'failed',
    text: 'The server says that it failed: {"rows":[{"id":1},{"id":2}]}',
  });
});

for (const [what, content, structuredContent] of [
  ['the same JSON', ['{ "b": 2,\n "a": 1 }'], { a: 1, b: 2 }],
  ['a number under "result"', ['5'], { result: 5 }],
  ['a text under "result"', ['five'], { result: 'five' }],
  ['a text of digits under "result"', ['5'], { result: '5' }],
  ['a text under another name', ['what stands there'], { content: 'what stands there' }],
  ['a list with a text for each item', ['a', 'b'], { result: ['a', 'b'] }],
  ['a list of objects', ['{"id": 1}', '{"id": 2}'], { result: [{ id: 1 }, { id: 2 }] }],
] as const) {
  test(`a structure that the texts say already is not told twice: ${what}`, () => {
    assert.equal(textOf({ content: content.map(text), structuredContent }), content.join('\n'));
  });
}

test('a part of an unknown kind, and a result without parts, are told as JSON', () => {
  // unpaywall-mcp#4, mcp-server-smtp#4
  assert.equal(textOf({ content: [{ type: 'json', json: { a: 1 } }] }), '{"json":{"a":1}}');
  assert.equal(textOf({ success: true, _meta: { x: 1 } }), '{"success":true}');
  assert.equal(textOf({ content: { a: 1 } }), '{"a":1}');
  assert.equal(textOf({ content: [{ type: 'film', data: 'A'.repeat(20_000) }] }), '[film, 20 kB]');
});

test('a long structure is cut, with a mark', () => {
  const cut = textOf({ structuredContent: { a: 'x'.repeat(200_000) } });
  assert.match(cut, /\[cut: the rest is too long\]$/);
  assert.ok(cut.length < 66_000);
});
