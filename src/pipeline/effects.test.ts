import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../domain/reply.ts';
import type { InClaim } from '../ledger/ledger.ts';
import { replyBody, replyFrom } from '../ledger/engine/bodies.ts';
import { emptyContext, effectsOf, partsOf, type TurnEnd } from './effects.ts';
import type { ActiveRoute, Deps } from './deps.ts';

const choices = [{ label: 'Approve', says: '/approve 4XK2M9TQ0Z' }];
const reply = { id: 'r1', text: 'one|two|three', choices } as unknown as Reply;

const channel = {
  split: (text: string) => text.split('|').map((part) => ({ text: part })),
};

test('what may be pressed stands under the last part of a reply', () => {
  const parts = partsOf(channel, reply);
  assert.deepEqual(
    parts.map((part) => [part.id, part.text, part.choices]),
    [
      ['r1-00', 'one', undefined],
      ['r1-01', 'two', undefined],
      ['r1-02', 'three', choices],
    ],
  );
  assert.ok(!('choices' in parts[0]!));
  assert.deepEqual(partsOf({}, reply), [reply]);
});

test('the first part becomes the message that is replaced, and no other', () => {
  const parts = partsOf(channel, { ...reply, replaces: 'm1' });
  assert.deepEqual(
    parts.map(({ replaces }) => replaces),
    ['m1', undefined, undefined],
  );
});

test('a reply of code alone is a file', () => {
  const split = () => [{ text: 'let a;', file: { name: 'code.js' } }];
  const [part, ...rest] = partsOf({ split }, { ...reply, replaces: 'm1' });
  assert.deepEqual(rest, []);
  assert.deepEqual([part?.id, part?.text, part?.file?.name], ['r1', 'let a;', 'code.js']);
  assert.deepEqual([part?.replaces, part?.choices], ['m1', choices]);
});

test('what failed may be asked again by a press, unless it has had an effect', () => {
  const message = {
    id: 'm',
    channel: 'messenger_a:77',
    conversation: 'c',
    acceptedAt: 3,
    text: 'pay Bob',
    address: { channel: 'messenger_a:77', target: 'c' },
  };
  const deps = { ledger: { durability: { durable: true } }, ids: { reply: () => 'r' } };
  const route = { brain: { name: 'b' }, session: null, channel: {} };
  const choicesAfter = (hasActed: boolean, text = 'pay Bob') => {
    const turnContext = { ...emptyContext('public'), hasActed };
    const decision = { move: null, intent: { kind: 'think', text } } as const;
    const { replies } = effectsOf(
      deps as unknown as Deps,
      route as unknown as ActiveRoute,
      { message, attempt: 1 } as unknown as InClaim,
      { kind: 'apology', apology: 'unfinished', why: '' },
      { decision, claimedAt: 3, decidedAt: 4, turnContext },
    );
    return replies[0]?.choices;
  };
  assert.deepEqual(choicesAfter(false), [{ label: 'Try again', says: '/retry 3' }]);
  // `/retry` does not find a message that is written like svc's own text.
  assert.equal(choicesAfter(false, '(approved: pay)'), undefined);
  assert.equal(choicesAfter(true), undefined);
});

test('what stands where there is no answer says so, also when it was kept', () => {
  const message = { id: 'm', channel: 'c:1', text: 'hi', address: { channel: 'c:1', target: 't' } };
  const deps = { ledger: { durability: { durable: false } }, ids: { reply: () => 'r' } };
  const route = { brain: { name: 'b' }, session: null, channel: {} };
  const decision = { move: null, intent: { kind: 'think', text: 'hi' } } as const;
  const replyTo = (end: object) => {
    const { replies } = effectsOf(
      deps as unknown as Deps,
      route as unknown as ActiveRoute,
      { message, attempt: 1 } as unknown as InClaim,
      end as TurnEnd,
      { decision, claimedAt: 3, decidedAt: 4, turnContext: emptyContext('public') },
    );
    const [{ id, conversation, createdAt }] = replies as [Reply];
    return replyFrom({ id, channel: 'c:1', conversation, createdAt, body: replyBody(replies[0]!) });
  };
  const sorry = { kind: 'apology', apology: 'unfinished', why: '' };
  assert.equal(replyTo(sorry).isApology, true);
  assert.equal(replyTo({ kind: 'command', command: 'unread', text: 'It?' }).isApology, true);
  assert.equal(replyTo({ kind: 'reply', text: 'hello', sources: [] }).isApology, undefined);
});
