import assert from 'node:assert/strict';
import {
  forgottenPerson,
  personOn,
  roleOf,
  type Approval,
  type Verdict,
} from '../../../src/domain/approval.ts';
import { type ApprovalId, type ConversationId } from '../../../src/domain/ids.ts';
import { failure } from '../../../src/domain/failure.ts';
import type { Inbound } from '../../../src/domain/message.ts';
import type { ToolOutcome } from '../../../src/domain/tool-use.ts';
import type { InClaim } from '../../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  durably,
  effects,
  hook,
  ids,
  noneIn,
  oneIn,
  oneOut,
  promise,
  said,
  type HasLedger,
  type LedgerCase,
} from './kit.ts';
import { patienceMs } from '../../support/waiting.ts';

const hourMs = 3_600_000;
const askedAt = Date.UTC(2026, 10, 27, 12);
let codes = 0;

/** The approval that a claim's turn asks for; `more` gives the next one another code. */
export function approvalOf({ message }: InClaim, more: Partial<Approval> = {}): Approval {
  const { channel, conversation, address, sender, sensitivity, id: messageId } = message;
  return {
    id: ids.reply() as string as ApprovalId,
    code: `10AB${String(codes++).padStart(6, '2')}`,
    state: 'waiting',
    channel,
    conversation,
    address,
    sender,
    messageId,
    brain: 'main',
    tool: 'http_post',
    arguments: '{"text":"hello \\u0000 \u{1F600} \\"quoted\\""}',
    hash: 'of both',
    sensitivity,
    askedAt,
    expiresAt: askedAt + hourMs,
    decidedAt: null,
    decidedBy: null,
    settledAt: null,
    outcome: null,
    ...more,
  };
}

/** Accepts a message, and ends its turn with these approvals. */
export async function asks(
  it: HasLedger,
  who: string,
  more: readonly Partial<Approval>[] = [{}],
  inbound: Partial<Inbound> = {},
): Promise<readonly Approval[]> {
  await accept(it, said(who, 'please', inbound));
  const claim = await oneIn(it, inbound.channel);
  const asked = more.map((one) => approvalOf(claim, one));
  assert.equal(await it.ledger.complete(claim, { ...effects(claim, ['May I?']), asked }), true);
  return asked;
}

async function asksOne(it: HasLedger, who: string, more: Partial<Approval> = {}) {
  const [asked] = await asks(it, who, [more]);
  return asked!;
}

export function decide(it: HasLedger, { id }: Approval, verdict: Verdict = 'approved', by = 'x') {
  return it.ledger.approvals.decide(id, { verdict, by, at: askedAt + 5 });
}

/** Runs the turn that follows the decision. */
export async function follows(it: HasLedger, who: string, one: Approval, outcome: ToolOutcome) {
  await accept(it, said(who, '', { approval: one.id }));
  const claim = await oneIn(it);
  assert.equal(claim.message.approval, one.id);
  const settled = { id: one.id, outcome };
  assert.equal(await it.ledger.complete(claim, { ...effects(claim, ['Done.']), settled }), true);
}

const found = (it: HasLedger, { id }: Approval) => it.ledger.approvals.find(id);
const idsOf = (list: readonly Approval[]): string[] => list.map(({ id }) => id);
const owed = async (it: HasLedger, now = askedAt): Promise<string[]> =>
  idsOf(await it.ledger.approvals.owed(now));

/** Tool calls that wait for approval: a turn asks, an operator decides once, a turn settles. */
export const approvalCases: readonly LedgerCase[] = [
  promise('what a turn asks for waits from its commit on', async (it) => {
    const both = await asks(it, 'ann', [{}, { tool: 'calc', sensitivity: 'private' }]);
    for (const one of both) {
      assert.deepEqual(await found(it, one), one);
      assert.deepEqual(await it.ledger.approvals.find(one.code), one);
    }
    assert.deepEqual(await it.ledger.approvals.waiting(), both);
    assert.deepEqual(await owed(it), []);
    assert.equal((await oneOut(it)).reply.text, 'May I?');
  }),
  promise('a code is known however it is written, and no other one', async (it) => {
    const one = await asksOne(it, 'ann', { code: '10ABCDEF01' });
    for (const code of ['10abcdef01', 'lOab-cdef-oI', 'IOABCDEFOL']) {
      assert.deepEqual(await it.ledger.approvals.find(code), one, code);
    }
    for (const code of ['', '10ABCDEF02', '10ABCDEF0', '%', one.id.toUpperCase()]) {
      assert.equal(await it.ledger.approvals.find(code), null, code);
    }
  }),
  promise('a buried message asks as well', async (it) => {
    await accept(it, said('ann', 'please'));
    const claim = await oneIn(it);
    const asked = [approvalOf(claim)];
    await it.ledger.deadLetter(claim, failure('fault'), { ...effects(claim, ['Sorry.']), asked });
    assert.deepEqual(await it.ledger.approvals.waiting(), asked);
  }),
  promise('a turn whose claim was lost asks for nothing, and settles nothing', async (it) => {
    const before = await asksOne(it, 'bob');
    assert.equal(await decide(it, before), 'decided');
    await accept(it, said('ann', 'please'));
    const claim = await oneIn(it);
    const where = { channel: hook, conversation: 'ann' as ConversationId };
    await it.ledger.takeovers.hold(where);
    const asked = approvalOf(claim);
    const settled = { id: before.id, outcome: 'done' } as const;
    const late = { ...effects(claim, ['late']), asked: [asked], settled };
    assert.equal(await it.ledger.complete(claim, late), false);
    assert.equal(await found(it, asked), null);
    assert.deepEqual(await owed(it), [before.id]);
    assert.equal((await found(it, before))?.settledAt, null);
  }),
  promise('of a hundred who decide at once one does', async (it) => {
    const one = await asksOne(it, 'ann');
    const verdict = (n: number): Verdict => (n % 2 === 0 ? 'approved' : 'refused');
    const all = Array.from({ length: 100 }, (_, n) => decide(it, one, verdict(n), `by ${n}`));
    const results = await Promise.all(all);
    const first = results.indexOf('decided');
    assert.equal(results.filter((result) => result === 'decided').length, 1);
    assert.equal(results.filter((result) => result === 'not_waiting').length, 99);
    const decided = { state: verdict(first), decidedBy: `by ${first}`, decidedAt: askedAt + 5 };
    assert.deepEqual(await found(it, one), { ...one, ...decided });
    assert.deepEqual(await it.ledger.approvals.waiting(), []);
    assert.equal(await decide(it, one, 'expired'), 'not_waiting');
    assert.equal(await decide(it, { ...one, id: 'nobody' as ApprovalId }), 'not_waiting');
  }),
  promise('owed is what is decided or out of time and not settled, oldest first', async (it) => {
    const [young, late, yes, no] = await asks(it, 'ann', [
      { expiresAt: askedAt + 2 * hourMs },
      {},
      { expiresAt: askedAt + 2 * hourMs },
      { expiresAt: askedAt + 2 * hourMs },
    ]);
    assert.deepEqual(await owed(it, askedAt + hourMs - 1), []);
    assert.deepEqual(await owed(it, askedAt + hourMs), [late!.id]);
    await decide(it, no!, 'refused');
    await decide(it, yes!);
    assert.deepEqual(await owed(it), [yes!.id, no!.id]);
    assert.deepEqual(await owed(it, askedAt + hourMs), [late!.id, yes!.id, no!.id]);
    assert.deepEqual(idsOf(await it.ledger.approvals.waiting()), [young!.id, late!.id]);
    await decide(it, late!, 'expired');
    await follows(it, 'ann', late!, 'denied');
    assert.deepEqual(await owed(it, askedAt + hourMs), [yes!.id, no!.id]);
  }),
  promise('however many are owed, all are told', async (it) => {
    const asked = await asks(
      it,
      'ann',
      Array.from({ length: 120 }, () => ({})),
    );
    const due = await owed(it, askedAt + hourMs);
    assert.deepEqual(due, idsOf(asked));
  }),
  promise('the turn that follows settles it, and it is owed no more', async (it) => {
    const one = await asksOne(it, 'ann');
    await decide(it, one);
    await follows(it, 'ann', one, 'failed');
    const settled = (await found(it, one))!;
    assert.equal(settled.outcome, 'failed');
    assert.ok(Math.abs(Date.now() - settled.settledAt!) < 2 * patienceMs);
    const decided = { state: 'approved', decidedBy: 'x', decidedAt: askedAt + 5 } as const;
    const { settledAt, outcome } = settled;
    assert.deepEqual(settled, { ...one, ...decided, settledAt, outcome });
    assert.deepEqual(await owed(it, askedAt + 9 * hourMs), []);
    await follows(it, 'ann', one, 'done');
    assert.deepEqual(await found(it, one), settled, 'once');
  }),
  promise('what still waits is settled by no turn', async (it) => {
    const one = await asksOne(it, 'ann');
    await follows(it, 'ann', one, 'done');
    assert.deepEqual(await found(it, one), one);
  }),
  promise('a question goes with its conversation, and with who asked for it', async (it) => {
    const [ann, bob] = [await asksOne(it, 'ann'), await asksOne(it, 'bob')];
    const cid = { sender: { id: 'cid', name: null } };
    const [inRoom] = await asks(it, 'room', [{}], cid);
    const [other] = await asks(it, 'room');
    await decide(it, other!);
    const where = { channel: hook, conversation: 'ann' as ConversationId };
    await it.ledger.forget({ kind: 'conversation', ...where });
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'cid' });
    for (const gone of [ann, inRoom!]) {
      assert.equal(await found(it, gone), null);
      assert.equal(await it.ledger.approvals.find(gone.code), null);
      assert.equal(await decide(it, gone), 'not_waiting');
    }
    assert.deepEqual(idsOf(await it.ledger.approvals.waiting()), [bob.id]);
    assert.deepEqual(await owed(it), [other!.id]);
  }),
  promise('of who decided and is forgotten it stays that a person did', async (it) => {
    const [mine, other] = await asks(it, 'ann', [{}, {}]);
    await decide(it, mine!, 'approved', personOn(hook, 'bob'));
    await decide(it, other!, 'refused', personOn(hook, 'cid'));
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'bob' });
    const [first, second] = [await found(it, mine!), await found(it, other!)];
    assert.equal(first?.decidedBy, forgottenPerson);
    assert.equal(roleOf(first.decidedBy), 'approver');
    assert.equal(second?.decidedBy, personOn(hook, 'cid'));
  }),
  promise('after the end nothing is decided or told', async (it) => {
    const one = await asksOne(it, 'ann');
    await it.ledger[Symbol.asyncDispose]();
    assert.equal(await decide(it, one), 'storage_failed');
    await assert.rejects(found(it, one));
    await assert.rejects(owed(it));
    await assert.rejects(it.ledger.approvals.waiting());
  }),
  promise('a message that goes on with one bears it, and is accepted once', async (it) => {
    const one = await asksOne(it, 'ann');
    const next = said('ann', '', { approval: one.id, dedupeKey: `approval ${one.id}` });
    await accept(it, next);
    assert.equal((await accept(it, next))[0]!.duplicate, true);
    const claim = await oneIn(it);
    assert.equal(claim.message.approval, one.id);
    await answer(it, claim);
    await noneIn(it);
  }),
  durably('every state outlives the process', async (it) => {
    const [waits, yes, no, over] = await asks(it, 'ann', [{}, {}, {}, {}]);
    await decide(it, yes!);
    await decide(it, no!, 'refused', 'messenger_a:42 \0 \uD800');
    await it.ledger.approvals.decide(over!.id, { verdict: 'expired', by: null, at: askedAt + 9 });
    await follows(it, 'ann', over!, 'refused');
    const all = [waits!, yes!, no!, over!];
    const states = () => Promise.all(all.map((one) => found(it, one)));
    const before = await states();
    const told = before.map((one) => one?.state);
    assert.deepEqual(told, ['waiting', 'approved', 'refused', 'expired']);
    await it.reopen();
    assert.deepEqual(await states(), before);
    assert.deepEqual(await owed(it), [yes!.id, no!.id]);
    assert.equal(await decide(it, waits!), 'decided');
    assert.equal(await decide(it, yes!), 'not_waiting');
  }),
  durably('what goes on with one, and what may be pressed, outlive the process', async (it) => {
    const one = await asksOne(it, 'ann');
    const next = said('bob', '', { approval: one.id, dedupeKey: `approval ${one.id}` });
    await accept(it, next);
    await it.reopen();
    assert.equal((await accept(it, next))[0]!.duplicate, true);
    const claim = await oneIn(it);
    assert.equal(claim.message.approval, one.id);
    const made = effects(claim, ['May it?']);
    const choices = [{ label: 'Yes', says: `/approve ${one.code}` }];
    const replies = made.replies.map((reply) => ({ ...reply, choices }));
    await it.ledger.complete(claim, { ...made, replies });
    await it.reopen();
    const outs = await it.ledger.claim('out', hook, 5);
    const pressed = outs.find(({ reply }) => reply.text === 'May it?');
    assert.deepEqual(pressed?.reply.choices, choices);
    assert.equal((await accept(it, next))[0]!.duplicate, true);
    await noneIn(it);
  }),
];
