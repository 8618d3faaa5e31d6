/** Paths in words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/config/locate.ts';
import { placeWords, withPlaces } from './place-words.ts';

const model = { provider: 'local_runtime', model_id: 'llama3.2', locality: 'local' };
const document: JsonObject = {
  channels: [{ type: 'webhook' }],
  brains: [{ name: 'one' }, { name: 'triage', models: [model], agent: { tools: ['time'] } }],
  routes: [{ channel: 'webhook', brain: 'triage' }],
  storage: { path: 'svc.db' },
};

test('a place is told by names, and a field by its own', () => {
  const words = (path: string): string => placeWords(path, document);
  assert.equal(words('brains[1]'), 'triage');
  assert.equal(words('brains[1].models[0].base_url'), 'triage › llama3.2: base_url');
  assert.equal(words('brains[1].agent.tools[0]'), 'triage › Agent: tools[0]');
  assert.equal(words('routes[0].brain'), 'Webhook → triage: brain');
  assert.equal(words('storage.path'), 'Storage: path');
  assert.equal(words('brains'), 'Brains');
  assert.equal(words('brains[7].name'), 'Brains: [7].name');
  assert.equal(words('polcy'), 'polcy');
});

test('a sentence of svc has its places in words', () => {
  assert.equal(
    withPlaces('KEY is not set; it is used at brains[1].models[0].api_key_env and more', document),
    'KEY is not set; it is used at triage › llama3.2: api_key_env and more',
  );
  assert.equal(
    withPlaces('brains[0] has this name already', document),
    'one has this name already',
  );
});
