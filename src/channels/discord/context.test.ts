import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MessageReferenceType, type APIMessageSnapshotFields } from 'discord-api-types/v10';
import { botId } from '../../../test/fake/scripted-discord.ts';
import { fieldsOf } from '../../lib/json.ts';
import { parseMessage } from './wire.ts';

const file = join(import.meta.dirname, '../../../test/fixtures/discord/messages.json');
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>;
const read = (name: string, more: object = {}) =>
  parseMessage({ ...recorded[name], ...more }, botId);
const repliedTo = (more: object): object => {
  const whole = fieldsOf(fieldsOf(recorded['guild_reply_to_another'])['referenced_message']);
  return { referenced_message: { ...whole, ...more } };
};

test('a reply holds what it replies to, whose it is, and when that was said', () => {
  const at = Date.parse('2026-03-01T12:00:00.124000+00:00');
  const ours = { text: 'Rain.', by: 'us', name: 'helper', at };
  const told = read('guild_reply_to_us_without_ping')?.context;
  assert.deepEqual(told, { inGroup: true, quoted: ours });
  assert.deepEqual(read('guild_mention')?.context, { inGroup: true });
  assert.deepEqual(read('guild_reply_to_what_was_deleted')?.context, { inGroup: true });
  assert.equal(read('direct')?.context, undefined);
  const quoted = (more: object) => read('guild_reply_to_another', repliedTo(more))?.context?.quoted;
  const photo = { id: '1', filename: 'cat.png', content_type: 'image/png', size: 9 };
  const { text, media } = quoted({ content: '', attachments: [photo] })!;
  assert.equal(text, '');
  const [one] = media ?? [];
  assert.deepEqual([one?.type, one?.reference, one?.bytes], ['image/png', 'cat.png', 9]);
  assert.match(one?.file ?? '', /^\d+\/\d+\/1$/);
  assert.equal(quoted({ content: '' }), undefined);
  const cut = quoted({ content: `${'x'.repeat(1_999)}😀` });
  assert.equal(cut?.text, 'x'.repeat(1_999));
});

test('of a bot it is not known whether its answer was private', () => {
  const author = { id: '77', username: 'other', bot: true };
  const told = read('guild_reply_to_another', repliedTo({ author }))?.context?.quoted;
  assert.deepEqual([told?.by, told?.at], ['other', 0]);
  const hook = read('guild_reply_to_another', repliedTo({ webhook_id: '78' }))?.context?.quoted;
  assert.equal(hook?.at, 0);
});

test('a mention alone is a message where it is said about another one', () => {
  const mention = { content: `<@${botId}>`, mentions: [{ id: botId, username: 'helper' }] };
  const said = read('guild_reply_to_another', mention);
  assert.equal(said?.text, '@helper');
  assert.equal(said?.setting, 'addressed');
  assert.notEqual(said?.context?.quoted, undefined);
});

test('who is mentioned is told by name, also in what is quoted or forwarded', () => {
  const bob = { id: '80351110224678913', username: 'bob', global_name: 'Bob B' };
  const mentioning = {
    content: 'ask <@80351110224678913>, <@!80351110224678913>',
    mentions: [bob],
  };
  assert.equal(read('direct', mentioning)?.text, 'ask @Bob B, @Bob B');
  const quoting = read('guild_reply_to_another', repliedTo(mentioning));
  assert.equal(quoting?.context?.quoted?.text, 'ask @Bob B, @Bob B');
  const forward = {
    message_reference: { type: MessageReferenceType.Forward },
    message_snapshots: [{ message: mentioning }],
  };
  assert.equal(read('direct', { content: '', ...forward })?.text, 'ask @Bob B, @Bob B');
});

test('what the platform does not resolve is a word, and never an id', () => {
  const content =
    'ask <@80351110224678914>, <@!80351110224678915> or <@&80351110224678913> in ' +
    '<#80351110224678913> by </weather now:80351110224678913>';
  const words = 'ask @someone, @someone or @a role in #a channel by /weather now';
  assert.equal(read('direct', { content, mentions: [{ id: '1' }] })?.text, words);
  assert.equal(
    read('guild_reply_to_another', repliedTo({ content }))?.context?.quoted?.text,
    words,
  );
  const forward = {
    message_reference: { type: MessageReferenceType.Forward },
    message_snapshots: [{ message: { content } }],
  };
  assert.equal(read('direct', { content: '', ...forward })?.text, words);
  const emoji = 'a < b <3 <:so:80351110224678913> <t:1618953630>';
  assert.equal(read('direct', { content: emoji })?.text, emoji);
});

test('a forward is what its snapshot holds', () => {
  const message: Partial<APIMessageSnapshotFields> = {
    content: 'It rains.',
    attachments: [{ id: '5', filename: 'a.png', size: 3 }] as never,
  };
  const forward = {
    content: '',
    message_reference: { type: MessageReferenceType.Forward, channel_id: '1', message_id: '2' },
    message_snapshots: [{ message }],
  };
  const said = read('direct', forward);
  assert.equal(said?.text, 'It rains.');
  assert.equal(said?.media?.reference, 'a.png');
  assert.deepEqual(said?.context, { forwardedFrom: null });
  assert.equal(read('direct', { ...forward, message_snapshots: [] }), null);
});
