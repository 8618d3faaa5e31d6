/** The question as an approver sees it: nothing in it hides, and nothing is read as markup. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval } from '../../domain/approval.ts';
import type { ChannelKey, ConversationId, MessageId } from '../../domain/ids.ts';
import { canonicalJson } from '../../lib/json.ts';
import { describeQuestion, describeQuestionTo } from './sentences.ts';

function approvalOf(given: object, on = 'messenger_a:77', name = 'Ada'): Approval {
  const channel = on as ChannelKey;
  return {
    id: 'a' as Approval['id'],
    code: '0123456789',
    state: 'waiting',
    channel,
    conversation: 'c' as ConversationId,
    address: { channel, target: 'c' },
    sender: { id: '42', name },
    messageId: 'm' as MessageId,
    brain: 'helper',
    tool: 'webhook_call',
    arguments: canonicalJson(given)!,
    hash: '',
    sensitivity: 'public',
    askedAt: 0,
    expiresAt: 1,
    decidedAt: null,
    decidedBy: null,
    settledAt: null,
    outcome: null,
  };
}

const lineOf = (text: string): string => text.split('\n')[0]!;

test('a call that was asked for elsewhere is code, too, where a messenger shows it', () => {
  const approval = approvalOf({ url: 'https://a/||b||' }, 'webhook', '[boss](https://evil)');
  const question = describeQuestionTo(approval);
  assert.ok(question.includes('`webhook_call {"url":"https://a/||b||"}`'), question);
  assert.ok(question.includes('asked by `[boss](https://evil)` on'), question);
  assert.ok(!describeQuestion([approval], false, true).includes('`'), 'a webhook has no markup');
});

test('a long argument hides no other', () => {
  const given = { body: 'x'.repeat(5_000), url: 'https://evil.example/' };
  const line = lineOf(describeQuestion([approvalOf(given)], true, false));
  assert.match(
    line,
    /`webhook_call \{"body":"x+…,"url":"https:\/\/evil\.example\/"\}` \(\d[\d,]* char/,
  );
  const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`key ${n}`, n]));
  assert.ok(lineOf(describeQuestion([approvalOf(many)], true, false)).length < 1_300);
});

test('what cannot be seen is shown by its number', () => {
  for (const hidden of ['\uFE0F', '\u034F', '\u3164', '\u2800', '\u00A0', '\u{E0100}', '\u2028']) {
    const line = lineOf(describeQuestion([approvalOf({ url: `a${hidden}b` })], true, false));
    assert.match(line, /"a(\\u[0-9a-f]{4})+b"/, JSON.stringify(hidden));
  }
  const line = lineOf(describeQuestion([approvalOf({ url: 'two words' })], true, false));
  assert.ok(line.includes('"two words"'));
});
