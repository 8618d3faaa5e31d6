import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Mapping } from '../../config/config.ts';
import type { Reply } from '../../domain/reply.ts';
import { defaultMapping as mapping } from '../../../test/fake/webhook.ts';
import { createReplyWriter, parseInbound, type WireMessage } from './wire.ts';
import { anyText } from '../../../test/support/any-text.ts';
import { runs } from '../../../test/support/runs.ts';

function messageOf(json: string, by: Mapping = mapping): WireMessage {
  const wire = parseInbound(json, by);
  if (wire.kind === 'problem') assert.fail(wire.detail);
  return wire;
}

const codeOf = (json: string): string => {
  const wire = parseInbound(json, mapping);
  return wire.kind === 'problem' ? wire.code : wire.target;
};
const withId = (id: string): string => `{"conversation_id":${id},"sender_id":"a","text":"x"}`;

test('42 and "42" are one conversation, and each goes back as it came', () => {
  const [number, string] = [messageOf(withId('42')), messageOf(withId('"42"'))];
  assert.equal(number.conversation, string.conversation);
  assert.equal(number.target, '42');
  assert.equal(string.target, '"42"');
});

test('an integer keeps its digits beyond 2⁵³, wherever else its key occurs', () => {
  const id = '-123456789012345678901234567890';
  const nested = `{"more":{"conversation_id":1},"conversation_id":${id},"sender_id":"a","text":"x",
    "list":[{"conversation_id":12345678901234567890}]}`;
  assert.equal(messageOf(nested).target, id);
  assert.equal(messageOf(nested).conversation, id);
  const twice = `{"conversation_id":98765432109876543210,${withId(id).slice(1)}`;
  assert.equal(messageOf(twice).target, id);
});

test('what is no string and no integer is no id', () => {
  for (const id of ['1.5', '1e400', '1e30', '12345678901234567890.5', 'true', '[]', '{}']) {
    assert.equal(codeOf(withId(id)), 'invalid_field', id);
  }
  assert.equal(codeOf(withId('1e3')), '1000');
  assert.equal(codeOf(withId('1.0')), '1');
  assert.equal(codeOf(withId('"\\ud800"')), 'invalid_field');
});

test('an id has at most 1,024 characters', () => {
  for (const id of [`"${'x'.repeat(1_024)}"`, '9'.repeat(1_024)])
    assert.equal(codeOf(withId(id)), id);
  for (const id of [`"${'x'.repeat(1_025)}"`, '9'.repeat(1_025)]) {
    assert.equal(codeOf(withId(id)), 'invalid_field');
  }
});

test('an id has at most 2,048 bytes, as a database stores them', () => {
  for (const id of ['あ'.repeat(682), 'я'.repeat(1_024), '\0'.repeat(292)]) {
    assert.equal(codeOf(withId(JSON.stringify(id))), JSON.stringify(id));
  }
  for (const id of ['あ'.repeat(683), '\0'.repeat(293), '\uE000'.repeat(293)]) {
    assert.equal(codeOf(withId(JSON.stringify(id))), 'invalid_field');
  }
});

test('null and empty count as absent, and other keys may hold anything', () => {
  const json = `{"sender_id":7,"sender_name":null,"text":"x","media_url":"","media_type":null,
    "conversation_id":null,"__proto__":{"text":1},"x":[{}]}`;
  assert.deepEqual(messageOf(json), {
    kind: 'message',
    conversation: '7',
    target: '7',
    sender: { id: '7', name: null },
    text: 'x',
    media: null,
  });
  assert.equal(codeOf('{"sender_id":"","text":"x"}'), 'missing_sender');
  assert.equal(codeOf('{"sender_id":"a","text":"","media_type":"image/png"}'), 'missing_content');
});

test('media alone is content', () => {
  const media = { type: 'image/png', reference: 'https://x/y' };
  const json = '{"sender_id":"a","media_url":"https://x/y","media_type":"image/png"}';
  assert.deepEqual(messageOf(json).media, media);
  assert.equal(messageOf(json).text, '');
});

test('only what the body itself has is read, whatever the mapping names', () => {
  const odd = { ...mapping, sender_id: '__proto__', text: 'toString', sender_name: 'constructor' };
  const wire = messageOf('{"__proto__":"ann","toString":"hello"}', odd);
  assert.deepEqual(wire.sender, { id: 'ann', name: null });
  assert.equal(wire.text, 'hello');
  assert.equal(parseInbound('{}', odd).kind, 'problem');
});

test('a problem names the key as the sender knows it', () => {
  const wire = parseInbound('{"from":true}', { ...mapping, sender_id: 'from' });
  assert.equal(wire.kind === 'problem' && wire.detail.startsWith('"from" (sender_id) must'), true);
});

test('text and ids pass through unchanged, and a reply takes the id back in its type', () => {
  const id = fc.oneof(
    anyText({ minLength: 1, maxLength: 50 }).filter((s) => s.isWellFormed()),
    fc.bigInt(),
  );
  const text = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1 });
  const keys = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 6, maxLength: 6 });
  fc.assert(
    fc.property(id, text, keys, (conversation, units, names) => {
      const said = String.fromCharCode(...units);
      const by = Object.fromEntries(
        Object.keys(mapping).map((field, at) => [field, names[at]!]),
      ) as Mapping;
      const target =
        typeof conversation === 'bigint' ? `${conversation}` : JSON.stringify(conversation);
      const key = (field: keyof Mapping): string => JSON.stringify(by[field]);
      const fields = `${key('sender_id')}:1,${key('text')}:${JSON.stringify(said)}`;
      const wire = messageOf(`{${key('conversation_id')}:${target},${fields}}`, by);
      assert.equal(wire.text, said);
      assert.equal(wire.target, target);
      assert.equal(wire.conversation, String(conversation));
      const sent = createReplyWriter(by)(replyTo(wire, said));
      assert.equal(messageOf(sent, by).target, target);
      assert.equal(messageOf(sent, by).text, said);
    }),
    { numRuns: runs(300) },
  );
});

test('no JSON makes the parser throw', () => {
  fc.assert(
    fc.property(fc.json(), fc.jsonValue(), fc.jsonValue(), (json, sender, text) => {
      parseInbound(json, mapping);
      parseInbound(JSON.stringify({ sender_id: sender, text, conversation_id: text }), mapping);
    }),
    { numRuns: runs(500) },
  );
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  parseInbound(`{"sender_id":99999999999999999999,"text":"x","deep":${deep}}`, mapping);
});

function replyTo(wire: WireMessage, text: string, more: Partial<Reply> = {}): Reply {
  const { conversation, target } = wire;
  const address = { channel: 'webhook', target };
  const rest = { id: 'r1', inReplyTo: 'm1', brain: 'helper', createdAt: 0, sessionStarted: null };
  return { ...rest, conversation, address, text, ...more } as Reply;
}

test('mapped names come first, and the additional ones where no mapping took them', () => {
  const by = {
    ...mapping,
    conversation_id: 'thread',
    text: 'message_id',
    sender_id: 'from',
    sender_name: 'from',
    media_url: 'session_started',
  };
  const wire = messageOf('{"from":"a","message_id":"x","thread":9}', by);
  const sent = createReplyWriter(by)(replyTo(wire, 'hi', { sessionStarted: 'idle' }));
  assert.deepEqual(JSON.parse(sent), {
    thread: 9,
    message_id: 'hi',
    from: 'helper',
    conversation_id: 9,
    text: 'hi',
    in_reply_to: 'm1',
    created_at: '1970-01-01T00:00:00.000Z',
  });
});

test('choices are said where there are any, unless a mapping took their name', () => {
  const choices = [{ label: 'Approve', says: '/approve 4XK2M9TQ0Z' }];
  const wire = messageOf(withId('1'));
  const sent = (by: typeof mapping, more: Partial<Reply>) =>
    JSON.parse(createReplyWriter(by)(replyTo(wire, 'hi', more))) as Record<string, unknown>;
  assert.deepEqual(sent(mapping, { choices })['choices'], choices);
  for (const more of [{}, { choices: [] }]) assert.ok(!('choices' in sent(mapping, more)));
  assert.equal(sent({ ...mapping, text: 'choices' }, { choices })['choices'], 'hi');
});

test('a session that svc itself began is said', () => {
  const reply = replyTo(messageOf(withId('1')), 'hi', { sessionStarted: 'daily' });
  const sent = JSON.parse(createReplyWriter(mapping)(reply)) as Record<string, unknown>;
  assert.equal(sent['session_started'], 'daily');
});
