import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstFound, rowsOf, treeOf } from './tree.ts';

const document = { brains: [{ name: 'helper', models: [{ model_id: 'llama3.2' }] }] };

test('channels of one type are told apart by name, and routes by what they take', () => {
  const telegram = { type: 'telegram' };
  const routes = [
    { channel: 'support', brain: 'helper', when: { chats: [-100, '7'], commands: ['/a'] } },
    { channel: 'support', brain: 'other' },
    { channel: 'messenger_a', brain: 'helper' },
  ];
  const nodes = treeOf({ channels: [telegram, { ...telegram, name: 'support' }], routes });
  const shown = nodes.slice(0, 3).map(({ children }) => children.map((n) => [n.label, n.note]));
  assert.deepEqual(shown, [
    [
      ['Telegram', null],
      ['support (Telegram)', null],
    ],
    [],
    [
      ['support (Telegram) → helper', 'chats -100 or 7, command /a'],
      ['support (Telegram) → other', 'every other message'],
      ['Telegram → helper', null],
    ],
  ]);
});

test('the first that a search finds is one that bears its words, not what holds it', () => {
  const found = (search: string) => {
    return firstFound(
      rowsOf(treeOf(document), () => true, search),
      search,
    )?.node.label;
  };
  assert.equal(found('lla'), 'llama3.2');
  assert.equal(found('HELP'), 'helper');
  assert.equal(found(' brains '), 'Brains');
  assert.equal(found('nothing'), undefined);
});
