import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelName } from './registry.ts';

test('a platform is called by its name, with the bot where one is meant', () => {
  assert.equal(channelName('messenger_a'), 'Telegram');
  assert.equal(channelName('messenger_b:77'), 'Discord (bot 77)');
  assert.equal(channelName('webhook'), 'webhook', 'it is no platform');
  assert.equal(channelName('of_before'), 'of_before');
});
