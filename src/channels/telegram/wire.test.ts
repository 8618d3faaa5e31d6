import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import messages from '../../../test/fixtures/telegram/messages.json' with { type: 'json' };
import presses from '../../../test/fixtures/telegram/presses.json' with { type: 'json' };
import { bot } from '../../../test/fake/scripted-telegram.ts';
import { directChatOf, parseTarget, parseBot, parseUpdates } from './wire.ts';
import { runs } from '../../../test/support/runs.ts';

test('what was said, to whom, and where the answer goes', async (t) => {
  for (const { name, message, expected } of messages) {
    await t.test(name, () => {
      const [read] = parseUpdates([{ update_id: 9, message }], bot);
      const { migration: _, ...update } = read!;
      const saidAt = { at: message.date * 1_000, stepMs: 1_000 };
      assert.deepEqual(update, { id: 9, message: expected && { ...expected, saidAt } });
    });
  }
});

test('either service message tells which group became which supergroup', () => {
  const inGroup = { message_id: 1, chat: { id: -5, type: 'group' }, migrate_to_chat_id: -1005 };
  const inNext = { chat: { id: -1005, type: 'supergroup' }, migrate_from_chat_id: -5 };
  for (const message of [inGroup, inNext]) {
    const [update] = parseUpdates([{ update_id: 9, message }], bot);
    assert.deepEqual(update, { id: 9, message: null, migration: { from: -5, to: -1005 } });
  }
});

test('a press says what its button says, in the conversation of the message above', async (t) => {
  for (const { name, query, expected, press } of presses) {
    await t.test(name, () => {
      const [update] = parseUpdates([{ update_id: 9, callback_query: query }], bot);
      assert.deepEqual(update, { id: 9, message: expected, press });
    });
  }
});

test('a press that is none of svc is ignored, yet confirmed', () => {
  const { query } = presses[0]!;
  const { message, from } = query;
  const { data: _, ...game } = query;
  const { message: __, ...inline } = query;
  const queries = [
    game,
    { ...inline, inline_message_id: 'x' },
    ...['/new', '/approve', 'pay', '/approve 4XK2M9TQ0Z now', ''].map((data) => {
      return { ...query, data };
    }),
    { ...query, from: { ...from, is_bot: true } },
    { ...query, message: { ...message, from: { ...message.from, id: 7 } } },
    { ...query, message: { ...message, chat: { id: -1005, type: 'channel' } } },
    // Telegram no longer shows this message, so its topic is unknown.
    { ...query, message: { message_id: 21, date: 0, chat: message.chat } },
  ];
  for (const callback_query of queries) {
    const [update] = parseUpdates([{ update_id: 9, callback_query }], bot);
    assert.deepEqual(update, { id: 9, message: null }, JSON.stringify(callback_query));
  }
});

test('a command in a group that names no bot is told as one', () => {
  const group = messages.find(({ expected }) => expected?.setting === 'overheard')!;
  const settingOf = (text: string): string | undefined => {
    const length = text.split(' ', 1)[0]!.length;
    const entities = [{ type: 'bot_command', offset: text.indexOf('/'), length }];
    const message = { ...group.message, text, entities };
    return parseUpdates([{ update_id: 9, message }], bot)[0]?.message?.setting;
  };
  for (const text of ['/approve 4XK2M9TQ0Z', '/approve', '/new', '/weather now']) {
    assert.equal(settingOf(text), 'command', text);
  }
  for (const text of ['look: /new', 'try /approve 4XK2M9TQ0Z']) {
    assert.equal(settingOf(text), 'overheard', text);
  }
});

test('the chat with a person is the conversation of what they write there', () => {
  const { message, expected } = messages[0]!;
  const direct = directChatOf(String(message.from.id));
  assert.deepEqual(
    [direct?.conversation, direct?.target],
    [expected?.conversation, expected?.target],
  );
  for (const none of ['', '-100200', '0', '1e3', '@ann', '12345678901234567890']) {
    assert.equal(directChatOf(none), null, none);
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
  const { query } = presses[0]!;
  fc.assert(
    fc.property(fc.jsonValue(), key, fc.jsonValue(), (value, name, other) => {
      parseUpdates(value, bot);
      parseUpdates([value, { update_id: 1, message: value }], bot);
      parseUpdates([{ update_id: 1, message: { ...message, [name]: other } }], bot);
      parseUpdates([{ update_id: 1, callback_query: value }], bot);
      parseUpdates([{ update_id: 1, callback_query: { ...query, [name]: other } }], bot);
      parseBot(value);
    }),
    { numRuns: runs(500) },
  );
});

test('an address that this channel did not write is none', () => {
  for (const target of ['', '{}', '[]', '["1",null,null]', 'x', 'null']) {
    assert.equal(parseTarget({ target }), null, target);
  }
  const target = parseTarget({ target: '[-100200,5,17]' });
  assert.deepEqual(target, { chat: -100200, thread: 5, replyTo: 17 });
  const seen = parseTarget({ target: '[-100200,5,17,1]' });
  assert.deepEqual(seen, { chat: -100200, thread: 5, replyTo: 17, acknowledged: true });
});

test('who the bot is', () => {
  assert.deepEqual(parseBot(bot), { id: bot.id, username: bot.username });
  assert.equal(parseBot({ id: 1 }), null);
});
