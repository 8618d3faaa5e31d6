/** Helpers for the cases of the ledger's contract. */
import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import type { Acceptance, Receipt } from '../../../src/channels/channel.ts';
import type { SessionMove, TurnRow } from '../../../src/domain/conversation.ts';
import {
  createIdSource,
  type ChannelKey,
  type ConversationId,
  type IdSource,
} from '../../../src/domain/ids.ts';
import type { Inbound } from '../../../src/domain/message.ts';
import type { Reply } from '../../../src/domain/reply.ts';
import type { Effects, InClaim, Ledger, OutClaim } from '../../../src/ledger/ledger.ts';

/** One ledger, and a way to open it again on the same data. */
export interface Bench extends AsyncDisposable {
  readonly ledger: Ledger;
  /** Disposes the ledger and opens it again; `ledger` is the new one. */
  reopen(): Promise<void>;
}

/** The object under test. */
export type HasLedger = Pick<Bench, 'ledger'>;

/** A bench whose clock the case moves. */
export interface ClockedBench extends Bench {
  /** Moves the ledger's time of day forward or back against the machine's, for good. */
  shiftClock(ms: number): void;
  /**
   * Lets so much time pass for the ledger: messages whose merging is over by then end soon after.
   */
  pass(ms: number): void;
}

/** Opens one backend of the ledger for a case. */
export type OpenBench = (limits: Limits) => Promise<ClockedBench>;
export type Limits = { readonly messagesMax?: number; readonly bytesMax?: number };

/** One case of the contract. `durable`: only for backends that outlive the process. */
export type LedgerCase = {
  readonly name: string;
  readonly run: (it: ClockedBench) => Promise<void>;
  readonly durable?: boolean;
  readonly limits?: Limits;
};

/** A case of every backend. */
export function promise(name: string, run: LedgerCase['run'], limits: Limits = {}): LedgerCase {
  return { name, run, limits };
}

/** A case of the backends that outlive the process. */
export function durably(name: string, run: LedgerCase['run']): LedgerCase {
  return { name, run, durable: true };
}

export const hook = 'webhook' as ChannelKey;
export const other = 'messenger_a:77' as ChannelKey;
/** A new source of ids. A ledger has its own, and the ids in its database move it on. */
export const newIds = (): IdSource =>
  createIdSource(Date.now, (bytes) => void randomFillSync(bytes));
/** For replies that a test makes itself; no ledger moves it on. */
export const ids = newIds();

/** A text in a conversation, as a channel passes it to the ledger. */
export function said(conversation: string, text: string, more: Partial<Inbound> = {}): Inbound {
  const channel = more.channel ?? hook;
  return {
    channel,
    conversation: conversation as ConversationId,
    sender: { id: `sender of ${conversation}`, name: null },
    text,
    media: null,
    address: { channel, target: conversation },
    dedupeKey: null,
    sensitivity: 'public',
    ...more,
  };
}

/** Passes a batch to the ledger, which must accept it. */
export async function accept(it: HasLedger, ...batch: Inbound[]): Promise<readonly Receipt[]> {
  return accepted(await it.ledger.accept(batch));
}

export function accepted(acceptance: Acceptance): readonly Receipt[] {
  assert.equal(acceptance.kind, 'accepted');
  return acceptance.kind === 'accepted' ? acceptance.receipts : [];
}

export function takeIn(it: HasLedger, n = 1, channel = hook): Promise<readonly InClaim[]> {
  return it.ledger.claim('in', channel, n);
}

export function takeOut(it: HasLedger, n = 1, channel = hook): Promise<readonly OutClaim[]> {
  return it.ledger.claim('out', channel, n);
}

/** Claims as soon as it can, which may take a storage a moment. */
async function whenReady<C extends InClaim | OutClaim>(
  { ledger }: HasLedger,
  take: () => Promise<readonly C[]>,
): Promise<readonly C[]> {
  const rung = Promise.withResolvers<'rung'>();
  const stop = ledger.onReady(() => rung.resolve('rung'));
  try {
    const claims = await take();
    const isBusy = claims.length === 0 && ledger.gauges().commitsPending > 0;
    return isBusy && (await rung.promise) === 'rung' ? await take() : claims;
  } finally {
    stop();
  }
}

/** The one message that can be claimed. */
export async function oneIn(it: HasLedger, channel = hook): Promise<InClaim> {
  const claims = await whenReady(it, () => takeIn(it, 10, channel));
  assert.equal(claims.length, 1, 'one message can be claimed');
  return claims[0]!;
}

/** The one reply that can be claimed. */
export async function oneOut(it: HasLedger, channel = hook): Promise<OutClaim> {
  const claims = await whenReady(it, () => takeOut(it, 10, channel));
  assert.equal(claims.length, 1, 'one reply can be claimed');
  return claims[0]!;
}

export async function noneIn(it: HasLedger, channel = hook): Promise<void> {
  assert.deepEqual(textsIn(await takeIn(it, 10, channel)), []);
}

export async function noneOut(it: HasLedger, channel = hook): Promise<void> {
  assert.deepEqual(textsOut(await takeOut(it, 10, channel)), []);
}

export const textsIn = (claims: readonly InClaim[]): string[] => claims.map((c) => c.message.text);
export const textsOut = (claims: readonly OutClaim[]): string[] => claims.map((c) => c.reply.text);

/** A reply to a claimed message. */
export function replyTo({ message }: InClaim, text: string): Reply {
  return {
    id: ids.reply(),
    inReplyTo: message.id,
    conversation: message.conversation,
    address: message.address,
    brain: 'main',
    text,
    createdAt: Date.now(),
    sessionStarted: null,
  };
}

/** The effects of a turn: these texts as replies, and a turn that remembers the first of them. */
export function effects(
  claim: InClaim,
  texts: readonly string[],
  more: {
    readonly turn?: TurnRow | null;
    readonly session?: SessionMove;
    readonly imported?: string;
    readonly leftOut?: readonly TurnRow[];
  } = {},
): Effects {
  const { acceptedAt, text, sensitivity } = claim.message;
  return {
    replies: texts.map((reply) => replyTo(claim, reply)),
    turn:
      more.turn === undefined
        ? { at: acceptedAt, text, reply: texts[0] ?? null, sensitivity }
        : more.turn,
    session: more.session ?? null,
    imported: more.imported === undefined ? null : { text: more.imported, sensitivity },
    leftOut: more.leftOut ?? [],
    doubted: [],
    notes: [],
    toolUses: [],
    unsent: [],
    trace: {
      acceptedAt,
      claimedAt: acceptedAt,
      decidedAt: acceptedAt,
      brain: 'main',
      attempt: claim.attempt,
      outcome: 'reply',
      steps: [],
    },
  };
}

/** Completes a claim with these replies; the claim must still have been open. */
export async function answer(it: HasLedger, claim: InClaim, ...texts: string[]): Promise<void> {
  assert.equal(await it.ledger.complete(claim, effects(claim, texts)), true);
}

/** Accepts one message of a conversation, and completes its turn with these replies. */
export async function exchange(it: HasLedger, who: string, text: string, ...replies: string[]) {
  await accept(it, said(who, text));
  const claim = await oneIn(it);
  assert.equal(claim.message.text, text);
  await answer(it, claim, ...replies);
}

/**
 * Reports replies as delivered, and waits for the effect. A ledger may answer before it has written
 * the delivery, since only the conversation's next reply depends on it.
 */
export async function deliver(it: HasLedger, ...claims: readonly OutClaim[]): Promise<void> {
  const before = it.ledger.gauges().outboxClaimed;
  for (const counted of await Promise.all(claims.map((claim) => it.ledger.delivered(claim)))) {
    assert.equal(counted, true);
  }
  const noted = (): boolean => it.ledger.gauges().outboxClaimed <= before - claims.length;
  await until('the deliveries are noted', noted);
}

/** Delivers every reply that can be claimed now, and those that follow. @returns their texts */
export async function deliverAll(it: HasLedger, channel = hook): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const claims = await takeOut(it, 100, channel);
    if (claims.length === 0) return texts;
    texts.push(...textsOut(claims));
    assert.ok(texts.length <= 10_000, 'replies come to an end');
    await deliver(it, ...claims);
  }
}

/**
 * How often a case checks its condition, two milliseconds apart or more. It counts checks, not
 * time: after a pause of the whole process, work that came due in it still gets its turn.
 */
export const patience = { looks: 15_000 };

/** Lets so many turns of the event loop pass: a varying while, independent of the clock. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

const betweenChecksMs = 2;

/** Waits until the condition holds. */
export async function until(what: string, is: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await is()); looks++) {
    if (looks > patience.looks) assert.fail(`in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, betweenChecksMs));
  }
}

/** Waits for a promise that must settle. */
export function settles(it: Promise<unknown>): Promise<void> {
  return until('the promise settles', () => isSettled(it));
}

/** Whether a promise has settled, after all work under way has run. */
export async function isSettled(it: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void it.then(() => (settled = true));
  await turns(5);
  return settled;
}
