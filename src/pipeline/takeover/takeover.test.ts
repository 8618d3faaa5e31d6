/**
 * An operator's answer leaves a turn with its question's label, and a trace that names the
 * operator.
 */
import { noStarts } from '../../domain/conversation.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { activeRoute } from '../../../test/fake/channel.ts';
import { noteEvents } from '../../../test/fake/webhook.ts';
import type { Brain } from '../../brains/brain.ts';
import type { Channel } from '../../channels/channel.ts';
import { createIdSource, type ChannelKey, type ConversationId } from '../../domain/ids.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { createMemoryLedger } from '../../ledger/memory/memory.ts';
import type { TakeoverMessage, Effects, Ledger } from '../../ledger/ledger.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import { ApprovalWork } from '../approvals/request.ts';
import { answerAsOperator } from './takeover.ts';

const where = { channel: 'webhook' as ChannelKey, conversation: 'c1' as ConversationId };

/** @returns the effects of an answer to both messages */
async function answered(asked: Sensitivity, more: Partial<TakeoverMessage> = {}, preview?: string) {
  const { now, steady } = handClock();
  const ids = createIdSource(now, (bytes) => crypto.getRandomValues(bytes));
  const ledger = createMemoryLedger({ now, steady, ids });
  const { events, calls } = noteEvents();
  const made: Effects[] = [];
  const noting = {
    answer: (key, upTo, effectsOf) =>
      ledger.takeovers.answer(key, upTo, (one, isLast) => {
        const shown = !isLast && preview !== undefined ? { preview } : {};
        const message = { ...one.message, ...shown };
        const effects = effectsOf({ ...one, message, ...more }, isLast);
        made.push(effects);
        return effects;
      }),
  } as Pick<Ledger['takeovers'], 'answer'>;
  const deps = {
    events,
    ids,
    now,
    steady,
    random: () => 0.5,
    approvals: new ApprovalWork({ steady }),
    fileBytes: new ByteSemaphore(0),
    spokenBytes: new ByteSemaphore(0),
    ledger: { takeovers: noting } as unknown as Ledger,
  };
  const brain = { name: 'main', sensitivity: 'public', agent: null } as unknown as Brain;
  const channel = {
    reportsSessions: true,
    split: (text: string) => text.split('|').map((part) => ({ text: part })),
  } as unknown as Channel;
  const route = activeRoute(brain, { channel });
  await ledger.takeovers.hold(where);
  const said = ['one', '/two'].map((text) => ({
    ...where,
    text,
    address: { channel: where.channel, target: 'c1' },
    dedupeKey: null,
    media: null,
    sender: { id: 'p1', name: null },
    sensitivity: asked,
  }));
  const acceptance = await ledger.accept(said);
  assert.ok(acceptance.kind === 'accepted');
  const last = acceptance.receipts[1]!.id;
  const written = { text: 'by|hand', upTo: last };
  assert.equal((await answerAsOperator(deps, undefined, where, written)).kind, 'not_served');
  assert.equal((await answerAsOperator(deps, route, where, written)).kind, 'answered');
  assert.deepEqual(
    calls.map(([name]) => name),
    ['answeredByOperator', 'answeredByOperator'],
  );
  return { first: made[0]!, second: made[1]!, last };
}

test('the last message has the reply, cut as its platform wants, and its own text', async () => {
  const { first, second, last } = await answered('public');
  assert.deepEqual(
    second.replies.map(({ text, inReplyTo }) => [text, inReplyTo]),
    [
      ['by', last],
      ['hand', last],
    ],
  );
  assert.deepEqual([second.turn?.text, second.turn?.reply], ['/two', 'by|hand']);
  assert.deepEqual([first.replies, first.turn?.text, first.turn?.reply], [[], 'one', null]);
  assert.deepEqual(first.trace?.steps, [{ kind: 'operator', answeredWith: last }]);
  assert.deepEqual(second.trace?.steps, [{ kind: 'operator', answeredWith: null }]);
  assert.equal(second.trace?.outcome, 'by_hand');
});

test('a private question has a private answer, and so has one behind private turns', async () => {
  const { first, second } = await answered('private');
  assert.deepEqual([first.turn?.sensitivity, second.turn?.sensitivity], ['private', 'private']);
  const open = await answered('public');
  assert.deepEqual(
    [open.first.turn?.sensitivity, open.second.turn?.sensitivity],
    ['public', 'public'],
  );
  const turn = { at: 1, text: 'a secret', reply: null, sensitivity: 'private' } as const;
  const session = { number: 1, startedAt: 1 };
  const memory = { session, turns: [turn], windows: noStarts, previousAt: 1, empty: false };
  const behind = await answered('public', { memory });
  assert.deepEqual(
    [behind.first.turn?.sensitivity, behind.second.turn?.sensitivity],
    ['public', 'private'],
  );
});

test('a message that ends the process is kept from later turns, whoever answers it', async () => {
  const { second } = await answered('public', { poison: true });
  assert.equal(second.turn, null);
  assert.equal(second.replies.length, 2);
});

test('an answer to several messages replaces what shows a reply to one of them', async () => {
  const { second } = await answered('public', {}, '[7]');
  assert.deepEqual(
    second.replies.map(({ replaces }) => replaces),
    ['[7]', undefined],
  );
});
