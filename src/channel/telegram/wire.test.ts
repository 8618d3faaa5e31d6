import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ChannelKey } from '../../domain/ids.ts';
import messages from '../../../test/fixtures/telegram/messages.json' with { type: 'json' };
import { bot } from '../../../test/fake/scripted-telegram.ts';
import { parseBot, parseTarget, parseUpdates } from './wire.ts';
import { runs } from '../../../test/runs.ts';

test('what was said, to whom, and where the answer goes', async (t) => {
  for (const { name, message, expected } of messages) {
    await t.test(name, () => {
      const [update] = parseUpdates([{ update_id: 9, message }], bot);
      assert.deepEqual(update, { id: 9, message: expected });
    });
  }
});

test('edits, posts of channels and other updates are no messages, yet are confirmed', () => {
  const { message } = messages[0]!;
  const wire = [
    { update_id: 1, edited_message: message },
    { update_id: 2, channel_post: message },
    { update_id: 3, my_chat_member: {} },
  ];
  const nothing = [1, 2, 3].map((id) => ({ id, message: null }));
  assert.deepEqual(parseUpdates(wire, bot), nothing);
});

test('no JSON makes the parser throw', () => {
  const names = ['update_id', 'message', 'chat', 'from', 'id', 'type', 'text', 'entities', 'photo'];
  const key = fc.constantFrom(...names);
  const { message } = messages[1]!;
  fc.assert(
    fc.property(fc.jsonValue(), key, fc.jsonValue(), (value, name, other) => {
      parseUpdates(value, bot);
      parseUpdates([value, { update_id: 1, message: value }], bot);
      parseUpdates([{ update_id: 1, message: { ...message, [name]: other } }], bot);
      parseBot(value);
    }),
    { numRuns: runs(500) },
  );
});

test('an address that this channel did not write is none', () => {
  const channel = 'messenger_a:1' as ChannelKey;
  for (const target of ['', '{}', '[]', '["1",null,null]', 'x', 'null']) {
    assert.equal(parseTarget({ channel, target }), null, target);
  }
  const target = parseTarget({ channel, target: '[-100200,5,17]' });
  assert.deepEqual(target, { chat: -100200, thread: 5, replyTo: 17 });
});

test('who the bot is', () => {
  assert.deepEqual(parseBot(bot), { id: bot.id, username: bot.username });
  assert.equal(parseBot({ id: 1 }), null);
});
