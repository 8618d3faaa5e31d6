import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf } from './wire.ts';

const bot = { id: 77 };
const date = 1_700_000_000;
const bob = { id: 8, is_bot: false, first_name: 'Bob' };
const channel = { id: -1007, type: 'channel', title: 'News' };
const open = { ...channel, username: 'news' };
const ofChannel = (chat: object) => ({ type: 'channel', date, chat, message_id: 3 });

const quotedIn = (wire: object) => contextOf({ from: { id: 7 }, ...wire }, true, bot)?.quoted;
const external = (origin: object, chat?: object) =>
  quotedIn({ external_reply: { origin, chat }, quote: { text: 'It rains' } });

test('what is quoted from another chat is open only in a channel that anybody can read', () => {
  const post = external(ofChannel(open), open);
  assert.deepEqual(post, { text: 'It rains', by: 'other', name: 'News', at: 0, elsewhere: 'open' });
  const supergroup = { ...open, type: 'supergroup' };
  for (const closed of [
    external(ofChannel(channel), channel),
    external(ofChannel(channel), open),
    external(ofChannel(open), channel),
    external(ofChannel(open)),
    external(ofChannel({ ...open, username: '' }), open),
    external({ type: 'chat', date, sender_chat: supergroup }, supergroup),
    external({ type: 'user', date, sender_user: bob }, supergroup),
    external({ type: 'user', date, sender_user: bot }),
  ]) {
    assert.deepEqual([closed?.text, closed?.at, closed?.elsewhere], ['It rains', 0, 'closed']);
  }
});

test('a post that was forwarded is open where its channel is', () => {
  const forwarded = (origin: object) =>
    quotedIn({ reply_to_message: { from: bob, date, text: 'It rains', forward_origin: origin } });
  assert.equal(forwarded(ofChannel(open))?.elsewhere, 'open');
  assert.equal(forwarded(ofChannel(channel))?.elsewhere, undefined);
  assert.equal(forwarded({ type: 'user', date, sender_user: bob })?.elsewhere, undefined);
  const post = (chat: object) => {
    const origin = ofChannel(chat);
    const automatic = { from: bob, sender_chat: chat, date, text: 'x', forward_origin: origin };
    return quotedIn({ reply_to_message: automatic })?.elsewhere;
  };
  assert.deepEqual([post(open), post(channel)], ['open', 'closed']);
  const own = quotedIn({ reply_to_message: { from: bob, date, text: 'It rains' } });
  assert.deepEqual(own, { text: 'It rains', by: 'other', name: 'Bob', at: date * 1_000 });
});
