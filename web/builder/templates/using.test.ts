/** A template replaces some parts and keeps others, and the result is valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/config/locate.ts';
import { templates, textOf } from '../../../src/config/templates/templates.ts';
import { validateText } from '../../../src/config/validate.ts';
import { addBeside, beginWith } from './using.ts';

const errorsOf = (document: JsonObject): readonly string[] =>
  validateText(textOf(document))
    .problems.filter(({ severity }) => severity === 'error')
    .map(({ path, message }) => `${path}: ${message}`);

const own: JsonObject = {
  _about: 'ours',
  observability: { addr: '127.0.0.1:2113' },
  admin: { token_env: 'ADMIN' },
  ...templates.find(({ name }) => name === 'private-assistant')!.document,
  channels: [
    {
      type: 'webhook',
      token_env: 'OURS',
      webhook: { bind: '127.0.0.1:9090', outbound_url: 'http://127.0.0.1:9091/in' },
    },
  ],
  storage: { path: 'ours.db' },
};

for (const { title, document } of templates) {
  test(`"${title}" fits over nothing, over a configuration, and beside one`, () => {
    assert.deepEqual(beginWith({}, document), document);
    assert.equal(addBeside({}, document), null);
    const over = beginWith(own, document);
    assert.deepEqual(errorsOf(over), []);
    for (const key of ['_about', 'observability', 'admin', 'storage']) {
      assert.deepEqual(over[key], own[key]);
    }
    assert.deepEqual(over['brains'], document['brains']);
    assert.deepEqual(over['channels'], own['channels'], 'the listener stays where it is');
    const beside = addBeside(own, document)!;
    assert.deepEqual(errorsOf(beside), []);
    assert.equal((beside['brains'] as unknown[]).length, 2);
    assert.deepEqual(beside['routes'], own['routes']);
  });
}
