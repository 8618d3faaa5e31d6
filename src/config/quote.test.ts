import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quote } from './quote.ts';

test('names are quoted', () => {
  for (const name of ['pigeon', 'messenger_a', 'llama3.2', 'Bürgerbüro', 'a b']) {
    assert.equal(quote(name), `"${name}"`);
  }
});

test('what may be a secret is not, nor what could drive a terminal', () => {
  for (const secret of [
    'sk-proj-abcdef',
    'ghp_abcdef',
    '123456789:AAE-x',
    '0123456789abcdef01234567',
    's3cr3t-value',
    'aB3dE5fG7hI9',
    '550e8400-e29b-41d4-a716-446655440000',
    'x'.repeat(41),
    'a\u001B[2J',
    'pass$word!',
    '',
  ]) {
    assert.equal(quote(secret), null, secret);
  }
});
