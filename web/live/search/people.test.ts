import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelKey, ConversationId } from '../../../src/domain/ids.ts';
import type { MessageOrigin } from '../../../src/domain/story.ts';
import { namedSo } from './names.ts';
import { peopleOf } from './people.ts';

const origin = (conversation: string, id: string, name: string | null): MessageOrigin => ({
  id: `m-${conversation}`,
  channel: 'telegram:7' as ChannelKey,
  conversation: conversation as ConversationId,
  conversationId: `c-${conversation}`,
  sender: { id, name },
});

test('a person is found by a part of the name, in each conversation, and by the id', () => {
  const people = peopleOf(
    [origin('1', '42', 'Anna Łukasz'), origin('2', '42', 'Anna Łukasz'), origin('1', '7', null)],
    [
      { channel: 'telegram', sender: '42', name: 'Anna', state: 'admitted', at: 1 },
      { channel: 'telegram', sender: '99', name: 'Ben', state: 'asking', at: 1 },
    ],
  );
  const found = (search: string) => namedSo(people, search).map(({ name, place }) => [name, place]);
  assert.deepEqual(found('łuk ann'), [
    ['Anna Łukasz', { view: 'conversations', open: 'c-1' }],
    ['Anna Łukasz', { view: 'conversations', open: 'c-2' }],
  ]);
  assert.deepEqual(found('ben'), [['Ben', { view: 'people' }]]);
  assert.deepEqual(found('7'), [['7', { view: 'conversations', open: 'c-1' }]]);
});
