import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schema } from '../../../src/config/schema.ts';
import { inPlainWords } from './choice-words.ts';

const ofContract = /messenger_[ab]|(?:local|hosted)_runtime|fanout/;

test('no sentence of a form has a name of the contract that people have another for', () => {
  const seen: string[] = [];
  JSON.stringify(schema, (key, value: unknown) => {
    if ((key === 'description' || key === 'defaultNote') && typeof value === 'string') {
      seen.push(value);
    }
    return value;
  });
  assert.ok(seen.some((text) => ofContract.test(text)));
  assert.deepEqual(
    seen.map(inPlainWords).filter((text) => ofContract.test(text)),
    [],
  );
  assert.equal(
    inPlainWords('`messenger_a` is Telegram, `fanout` asks `local_runtime` by `mode`.'),
    'Telegram, all at once asks Ollama by `mode`.',
  );
});
