import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sayChannel } from './registry.ts';

test('a platform is called by its name, with the bot where one is meant', () => {
  assert.equal(sayChannel('messenger_a'), 'Telegram');
  assert.equal(sayChannel('messenger_b:77'), 'Discord (bot 77)');
  assert.equal(sayChannel('webhook'), 'webhook', 'it is no platform');
  assert.equal(sayChannel('of_before'), 'of_before');
});
