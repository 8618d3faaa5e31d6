/** A text that may be a secret is recognised at any place; an ordinary text is not. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mayBeSecret, secretPlace } from './kept.ts';

const root = join(import.meta.dirname, '../../..');

test('no example and no configuration of a release is taken for one with a secret', () => {
  const files = globSync(['examples/*.json', 'test/golden/*.json'], { cwd: root });
  for (const file of files.filter((name) => !name.endsWith('.parsed.json'))) {
    const text = readFileSync(join(root, file), 'utf8');
    assert.equal(secretPlace(text), null, file);
  }
});

test('a secret is found in an address, its query, a note, a prompt, a key and a name', () => {
  const hex = 'ab0123456789cdef0123456789abcdef';
  const places: readonly (readonly [object, string])[] = [
    [
      { brains: [{ models: [{ base_url: 'http://me:pw@host.test' }] }] },
      'brains[0].models[0].base_url',
    ],
    [
      { brains: [{ models: [{ base_url: 'http://me@host.test/' }] }] },
      'brains[0].models[0].base_url',
    ],
    [
      { channels: [{ webhook: { outbound_url: 'http://a.test/?a=1&api_key=x' } }] },
      'channels[0].webhook.outbound_url',
    ],
    [{ _note: 'Authorization: Bearer sk-proj-abcdef' }, '_note'],
    [{ _note: { deep: ['Bearer 0123abcd'] } }, '_note.deep[0]'],
    [{ _note: `the token is ${hex}, do not tell` }, '_note'],
    [{ brains: [{ system_prompt: `Say ${hex}` }] }, 'brains[0].system_prompt'],
    [{ brains: [{ agent: { system_prompt: `Say ${hex}` } }] }, 'brains[0].agent.system_prompt'],
    [{ channels: [{ token_env: hex }] }, 'channels[0].token_env'],
    [{ channels: [{ token_env: 'deadbeef'.repeat(4) }] }, 'channels[0].token_env'],
    [{ channels: [{ token_env: 'correct horse' }] }, 'channels[0].token_env'],
    [{ channels: [{ token: 'short' }] }, 'channels[0].token'],
    [{ _notes: { [hex]: 1 } }, '_notes'],
  ];
  for (const [document, place] of places) {
    assert.equal(secretPlace(JSON.stringify(document)), place, JSON.stringify(document));
  }
});

test('what people write is no secret', () => {
  for (const text of [
    'http://127.0.0.1:11434/v1?model=a&keep=1',
    'Meta-Llama-3.1-70B-Instruct-Q4_K_M-GGUF',
    'hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
    'model@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
    'The bearer of this message needs basic understanding.',
    'write to me@example.com, or see https://example.com/a@b',
    '1234567890123456789',
    'CUSTOMER_SUPPORT_WEBHOOK_TOKEN_2026_EUROPE',
    'internationalization',
  ]) {
    assert.equal(mayBeSecret(text), false, text);
  }
});
