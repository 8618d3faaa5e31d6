/** People and chats that the form of a route offers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seenOn, type SeenRows } from './seen.ts';

const rows = {
  origins: [
    {
      id: 'm1',
      channel: 'support@messenger_a:4711',
      conversation: '-100123:5',
      conversationId: 'c1',
      sender: { id: '17', name: 'Ada' },
    },
    {
      id: 'm2',
      channel: 'messenger_a:42',
      conversation: '99',
      conversationId: 'c2',
      sender: { id: '99', name: null },
    },
  ],
  conversations: [{ channel: 'support@messenger_a:4711', conversation: '-100124' }],
  pairings: [{ channel: 'support', sender: '18', name: 'Bob', state: 'admitted', at: 1 }],
  turnedAway: [
    { channel: 'support@messenger_a:4711', reason: 'stranger', count: 1, at: 1, sender: '19' },
  ],
} as unknown as SeenRows;

test('people, chats and topics of a channel are offered, and none of another one', () => {
  assert.deepEqual(seenOn('support', rows), {
    senders: [
      { id: '17', words: '17, Ada' },
      { id: '18', words: '18, Bob' },
      { id: '19', words: '19, turned away' },
    ],
    chats: [
      { id: '-100123', words: '-100123, with Ada' },
      { id: '-100124', words: '-100124' },
    ],
    topics: [{ id: '5', words: '5, of chat -100123' }],
  });
  assert.deepEqual(seenOn('messenger_a', rows).chats, [{ id: '99', words: '99' }]);
});
