/** A test replaces the addresses of a kept configuration by its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { document, placed, unplaced, type Places } from './document.ts';

const text = JSON.stringify(document);

/** A test may get an address of the file (11434), or one with the same beginning (2112…). */
const given: Places = {
  webhook: '127.0.0.1:21124',
  admin: '127.0.0.1:11434',
  model: '127.0.0.1:40001',
  receiver: '127.0.0.1:40002',
  messenger: '127.0.0.1:40003',
};

test('every part is where the test has it, whatever ports it was given', () => {
  const { channels, brains, observability } = JSON.parse(placed(text, given)) as typeof document;
  const [webhook, messenger] = channels;
  assert.equal(webhook!.webhook!.bind, given.webhook);
  assert.equal(webhook!.webhook!.outbound_url, `http://${given.receiver}/replies`);
  assert.equal(messenger!.base_url, `http://${given.messenger}`);
  assert.equal(observability.addr, given.admin);
  assert.equal(JSON.stringify(brains).split(`http://${given.model}`).length, 3);
});

test('it is kept with the addresses that people write', () => {
  assert.equal(unplaced(placed(text, given), given), text);
});
