/** Names of channels and the order of routes in a draft. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editText } from '../../../src/config/edit/edit-text.ts';
import type { JsonObject } from '../../../src/config/locate.ts';
import { placeForRoute, renameEdits, swapEdits } from './channels.ts';

test('routes, grants and approvers follow a channel to its new name, and others stay', () => {
  const agent = {
    governance: [
      { tool: 'time', mode: 'ask', channels: ['telegram', 'webhook'] },
      { tool: 'calc', mode: 'allow' },
    ],
    approvers: ['messenger_a:17', 'webhook:x'],
  };
  const document: JsonObject = {
    routes: [
      { channel: 'telegram', brain: 'a' },
      { channel: 'webhook', brain: 'a' },
    ],
    brains: [{ name: 'a', agent }, { name: 'b' }],
  };
  let text = JSON.stringify(document);
  for (const edit of renameEdits(document, 'messenger_a', 'support')) {
    text = editText(text, edit, () => [])!;
  }
  const after = JSON.parse(text);
  assert.deepEqual(
    after.routes.map(({ channel }: { channel: string }) => channel),
    ['support', 'webhook'],
  );
  assert.deepEqual(after.brains[0].agent.governance[0].channels, ['support', 'webhook']);
  assert.deepEqual(after.brains[0].agent.approvers, ['support:17', 'webhook:x']);
});

test('two routes of a channel change places, and the routes between them stay', () => {
  for (const [one, other, expected] of [
    [0, 3, 'dbcae'],
    [3, 0, 'dbcae'],
    [1, 2, 'acbde'],
  ] as const) {
    let text = JSON.stringify({ list: ['a', 'b', 'c', 'd', 'e'] });
    for (const edit of swapEdits(['list'], one, other)) text = editText(text, edit, () => [])!;
    assert.equal(JSON.parse(text).list.join(''), expected);
  }
});

test('a route with conditions belongs before the one that takes every other message', () => {
  const routes = [
    { channel: 'webhook', brain: 'a', when: { senders: ['1'] } },
    { channel: 'telegram', brain: 'a' },
    { channel: 'webhook', brain: 'a' },
  ];
  assert.equal(placeForRoute({ routes }, 'webhook'), 2);
  assert.equal(placeForRoute({ routes }, 'support'), 3);
});
