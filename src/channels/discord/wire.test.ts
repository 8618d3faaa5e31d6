import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { anything, assert as holds, constantFrom, dictionary, property } from 'fast-check';
import type { RESTPostAPIChannelMessageJSONBody } from 'discord-api-types/v10';
import type { Reply } from '../../domain/reply.ts';
import { botId, botToken } from '../../../test/fake/scripted-discord.ts';
import { outgoingOf } from '../messenger/delivery.ts';
import { discordKind } from './discord.ts';
import { discord } from './kind.ts';
import {
  isLater,
  parseGatewayInfo,
  parseMessage,
  parseTarget,
  snowflakeAt,
  timeOfSnowflake,
  bodyOf,
  type Target,
} from './wire.ts';

const toWire = (reply: Reply, target: Target): RESTPostAPIChannelMessageJSONBody =>
  bodyOf(outgoingOf(discordKind, reply, target));

const file = join(import.meta.dirname, '../../../test/fixtures/discord/messages.json');
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
const read = (name: string) => parseMessage(recorded[name], botId);

test('a direct message is always to us, and its channel is its conversation', () => {
  assert.deepEqual(read('direct'), {
    id: '1346821094301794300',
    conversation: '319674150115610528',
    sender: { id: '80351110224678912', name: 'Nelly' },
    text: 'Hello there',
    media: null,
    setting: 'direct',
    saidAt: { at: 1_741_177_571_607, stepMs: 1 },
    target: '319674150115610528',
  });
});

test('in a server only a mention of us or a reply to us is to us', () => {
  const settings = Object.keys(recorded)
    .filter((name) => /^(guild|thread)/.test(name))
    .map((name) => [name, read(name)?.setting]);
  assert.deepEqual(Object.fromEntries(settings), {
    guild_overheard: 'overheard',
    guild_mention: 'addressed',
    guild_mention_in_the_middle: 'addressed',
    // There is nothing to answer.
    guild_mention_alone: undefined,
    guild_everyone: 'overheard',
    guild_role: 'overheard',
    guild_reply_to_us_without_ping: 'addressed',
    guild_reply_to_another: 'overheard',
    guild_reply_to_what_was_deleted: 'overheard',
    thread_mention: 'addressed',
  });
});

test('the mention of us is taken out, others are told by name, all else stays as it was', () => {
  assert.equal(read('guild_mention')?.text, 'what is  the time?');
  const middle = read('guild_mention_in_the_middle')?.text;
  assert.equal(middle, 'hey, are you there, @Nelly?');
});

test('a thread is a conversation of its own', () => {
  assert.equal(read('thread_mention')?.conversation, '1346821094301794290');
});

test('attachments are kind and file name, never a URL', () => {
  const message = read('direct_with_attachments');
  const place = '319674150115610528/1346821094301794301';
  const [cat, voice] = [message?.media, message?.further?.[0]];
  assert.deepEqual(cat, {
    type: 'image/png',
    reference: 'cat.png',
    file: `${place}/1346821094301794306`,
    bytes: 48_213,
  });
  assert.deepEqual([voice?.type, voice?.reference], ['audio/ogg', 'voice.ogg']);
  assert.equal(message?.text, '');
  assert.deepEqual(read('sticker')?.media, { type: 'sticker', reference: 'Wave' });
  const { sticker_items: _stickers, ...asked } = recorded['sticker'] as Record<string, unknown>;
  const poll = {
    question: { text: 'Tea?' },
    answers: [],
    allow_multiselect: false,
    layout_type: 1,
  };
  assert.deepEqual(parseMessage({ ...asked, poll }, botId)?.media?.reference, 'poll');
  assert.doesNotMatch(JSON.stringify(message), /https?:/);
});

test('what no person said to anybody is no message', () => {
  const silent = ['by_ourselves', 'by_a_bot', 'by_a_webhook', 'a_join', 'a_pin', 'a_thread_begun'];
  for (const name of [...silent, 'without_content_intent']) {
    assert.ok(name in recorded, name);
    assert.equal(read(name), null, name);
  }
});

test('a message that was fetched lacks its server: who fetches it says where it is from', () => {
  const { guild_id: _, ...fetched } = recorded['guild_mention'] as Record<string, unknown>;
  assert.equal(parseMessage(fetched, botId, false)?.setting, 'addressed');
  assert.equal(parseMessage(fetched, botId, true)?.setting, 'direct');
});

test('nothing that comes makes reading throw', () => {
  holds(property(anything(), (wire) => void parseMessage(wire, botId)));
  const keys = constantFrom(...Object.keys(recorded['guild_reply_to_another'] as object));
  const broken = dictionary(keys, anything());
  holds(
    property(broken, (fields) => {
      parseMessage({ ...(recorded['guild_mention'] as object), ...fields }, botId);
    }),
  );
});

const reply = { id: '01kz8c4h9e2q7x5t0m3vbn', text: 'four @everyone' } as unknown as Reply;

test('a reply pings nobody, bears its id as nonce, and in a server its reference', () => {
  const direct = parseTarget('319674150115610528')!;
  assert.deepEqual(toWire(reply, direct), {
    content: 'four @everyone',
    allowed_mentions: { parse: [], replied_user: false },
    flags: 4,
    nonce: '01kz8c4h9e2q7x5t0m3vbn',
    enforce_nonce: true,
  });
  const group = parseTarget('290926798999357250/1346821094301794303')!;
  const reference = { message_id: '1346821094301794303', fail_if_not_exists: false };
  assert.deepEqual(toWire(reply, group).message_reference, reference);
  const part = (number: string): Reply => ({ ...reply, id: `${reply.id}-${number}` }) as Reply;
  assert.equal(toWire(part('00'), group).nonce, '01kz8c4h9e2q7x5t0m3vbn-00');
  assert.deepEqual(toWire(part('00'), group).message_reference, reference);
  assert.equal(toWire(part('01'), group).message_reference, undefined);
  assert.equal(toWire(part('100'), group).nonce, undefined);
});

test('only digits get into a path', () => {
  for (const target of [
    '',
    'a',
    '1/2/3/4',
    '1/2/x',
    '1//',
    '1/',
    '../1',
    '1/..',
    '1?x',
    '123456789012345678901',
  ]) {
    assert.equal(parseTarget(target), null, target);
  }
});

test('the bot is known by its token, without asking', () => {
  assert.equal(discord.botOf(botToken), botId);
  const wrong = [
    '',
    'x',
    `Bot ${botToken}`,
    'a.b.c',
    botToken.replaceAll('.', ''),
    `${botToken}.x`,
  ];
  for (const token of wrong) assert.equal(discord.botOf(token), null, token);
});

test('a gateway is a ws or wss address and nothing else', () => {
  const info = { url: 'wss://gateway.discord.gg', session_start_limit: { remaining: 7 } };
  assert.deepEqual(parseGatewayInfo(info), { url: info.url, sessionsLeft: 7, resetMs: 0 });
  for (const url of ['https://discord.com', 'gateway', '', 7, null]) {
    assert.equal(parseGatewayInfo({ url }), null);
  }
});

test('snowflakes are times, and later ones are larger numbers', () => {
  assert.equal(timeOfSnowflake('175928847299117063'), 1_462_015_105_796);
  assert.equal(timeOfSnowflake(snowflakeAt(1_800_000_000_000)), 1_800_000_000_000);
  assert.ok(isLater('1000000000000000000', '999999999999999999'));
  assert.ok(!isLater('5', '5'));
});
