/** Compares the answers of the ledger with the reference. */
import assert from 'node:assert/strict';
import type { Receipt } from '../../../src/channels/channel.ts';
import type { Claim, InClaim, Ledger, OutClaim } from '../../../src/ledger/ledger.ts';
import { sameBatch, type Expected, type First, type Reference } from './reference.ts';
import type { MessageRow, ReplyRow, Row } from './rows.ts';
import type { World } from './worlds.ts';

/** Whether `safe` of a receipt has resolved. */
type Watched = { readonly id: string; safe: boolean };

export class Comparison {
  readonly #world: World;
  readonly #model: Reference;
  #watched: Watched[] = [];
  readonly #woken = new Set<string>();
  #listening: Ledger | null = null;

  constructor(world: World, model: Reference) {
    this.#world = world;
    this.#model = model;
    this.#listen();
  }

  receipts(expected: Expected, receipts: readonly Receipt[]): void {
    assert.ok(expected.kind === 'accepted');
    assert.equal(receipts.length, expected.firsts.length, 'a receipt each');
    const ids = new Set<string>();
    for (const [i, { id, duplicate, keyReused, safe }] of receipts.entries()) {
      const first: First | null = expected.firsts[i]!;
      const isReuse: boolean = first?.isReuse ?? false;
      assert.equal(keyReused, isReuse, 'a reuse is told as one');
      const isRepeat: boolean = first !== null && !isReuse;
      assert.equal(duplicate, isRepeat, 'a repeat is told as one, and nothing else is');
      if (first?.id.length === 22) assert.equal(id, first.id, 'a repeat has the id of the first');
      if (first?.id === sameBatch) assert.ok(ids.has(id), 'repeated in its batch');
      if (first === null) assert.ok(!ids.has(id), 'a new id');
      ids.add(id);
      const watched = { id, safe: false };
      this.#watched.push(watched);
      void safe.then(() => (watched.safe = true));
    }
  }

  /**
   * Asserts that exactly these rows may be claimed: as many as allowed, older before younger.
   * @returns the row of each claim
   */
  claimed<C extends Claim, R extends Row>(
    claims: readonly C[],
    ready: readonly R[],
    most: number,
    idOf: (claim: C) => string,
  ): readonly R[] {
    const rows = claims.map((claim) => {
      const row = ready.find(({ id }) => id === idOf(claim));
      assert.ok(row, `${idOf(claim)} may not be claimed`);
      return row;
    });
    assert.equal(new Set(rows).size, rows.length, 'none twice');
    assert.equal(rows.length, Math.min(most, ready.length), 'as many as there are');
    const inOrder = ready.filter(({ givenBack }) => !givenBack);
    const taken = rows.filter(({ givenBack }) => !givenBack).map(({ readySince }) => readySince!);
    const oldest = inOrder.map(({ readySince }) => readySince!).sort((a, b) => a - b);
    assert.deepEqual(taken, oldest.slice(0, taken.length), 'the oldest first');
    return rows;
  }

  inClaim(claim: InClaim, row: MessageRow): void {
    assert.equal(claim.box, 'in');
    assert.deepEqual(claim.message, row.message);
    assert.equal(claim.attempt, row.attempt, 'the number of the attempt');
    const { memory } = claim;
    const expected = this.#model.memoryOf(row);
    if (!this.#model.unsureOf(row)) assert.deepEqual(memory, expected, 'what is remembered');
    else assert.deepEqual(memory.turns, expected.turns, 'which turns are remembered');
  }

  outClaim(claim: OutClaim, row: ReplyRow): void {
    assert.equal(claim.box, 'out');
    assert.deepEqual(claim.reply, row.reply);
    const { attempt, attemptOfSchedule, possibleDuplicate, late } = claim;
    assert.deepEqual(
      { attempt, attemptOfSchedule, possibleDuplicate, late },
      {
        attempt: row.attempt,
        attemptOfSchedule: row.attempt - row.replayedAfter,
        possibleDuplicate: row.possibleDuplicate,
        late: row.late,
      },
      'the marks of a reply',
    );
  }

  afterStep({
    restarted,
    passed,
  }: {
    readonly restarted: boolean;
    readonly passed: boolean;
  }): void {
    this.#gauges();
    this.#safe();
    if (!restarted) this.#wakes(passed);
    this.#woken.clear();
    if (this.#listening !== this.#world.ledger) this.#listen();
  }

  #gauges(): void {
    const { ledger } = this.#world;
    const { inbox, outbox, now, messagesMax, deadLettersFrom, deadLettersTo } = this.#model;
    const gauges = ledger.gauges();
    const inClaimed = count(inbox, ({ claimed }) => claimed);
    const outClaimed = count(outbox, ({ claimed }) => claimed);
    const deferred = count(outbox, (row) => !row.claimed && (row.dueAt ?? 0) > now);
    equal(gauges.inboxWaiting, inbox.length - inClaimed, 'gauge of messages that wait');
    equal(gauges.inboxClaimed, inClaimed, 'gauge of messages claimed');
    equal(gauges.outboxWaiting, outbox.length - outClaimed - deferred, 'gauge of replies waiting');
    equal(gauges.outboxClaimed, outClaimed, 'gauge of replies claimed');
    equal(gauges.outboxDeferred, deferred, 'gauge of replies deferred');
    const queues = new Set<string>();
    for (const { queue } of inbox) queues.add(queue);
    for (const { queue } of outbox) queues.add(queue);
    equal(gauges.conversationsAtWork, queues.size, 'gauge of conversations at work');
    // Parts of a reply that died at different times may count as one, or each.
    const dead = Math.min(Math.max(gauges.deadLetters, deadLettersFrom), deadLettersTo);
    equal(gauges.deadLetters, dead, 'gauge of dead letters');
    equal(gauges.commitsPending, 0, 'gauge of commits pending');
    equal(gauges.messagesMax, messagesMax, 'bound of messages');
    const room = ledger.room();
    equal(room.messages, this.#model.room, 'room for messages');
    equal(room.bytes, gauges.bytesMax - gauges.bytesHeld, 'room in bytes');
    const rows = inbox.length + outbox.length;
    assert.ok(rows === 0 ? gauges.bytesHeld === 0 : gauges.bytesHeld >= 512 * rows, 'bytes held');
    const ids = new Set(ledger.unsettled(10_000));
    equal(ids.size, rows, 'how much is unsettled');
    for (const { id } of inbox) assert.ok(ids.has(id), `unsettled: ${id}`);
    for (const { id } of outbox) assert.ok(ids.has(id), `unsettled: ${id}`);
    this.#backlog();
  }

  #backlog(): void {
    const { inbox, outbox } = this.#model;
    let rows = 0;
    for (const { channel, inbox: messages, outbox: replies } of this.#world.ledger.backlog()) {
      equal(
        messages,
        count(inbox, (row) => row.channel === channel),
        'backlog of messages',
      );
      equal(
        replies,
        count(outbox, (row) => row.channel === channel),
        'backlog of replies',
      );
      assert.ok(messages + replies > 0, 'a backlog names no channel that has none');
      rows += messages + replies;
    }
    equal(rows, inbox.length + outbox.length, 'backlog');
  }

  /** Durable: at once. In memory: when the message and its replies are settled, and not before. */
  #safe(): void {
    if (this.#watched.length === 0) return;
    const open = this.#model.unsettledMessages;
    for (const { id, safe } of this.#watched) {
      assert.equal(safe, this.#model.durable || !open.has(id), 'safe to acknowledge');
    }
    this.#watched = this.#watched.filter(({ safe }) => !safe);
  }

  /** A row that became claimable, or was released, in this step has woken its worker pool. */
  #wakes(passed: boolean): void {
    const step = this.#model.step - 1;
    for (const row of [...this.#model.inbox, ...this.#model.outbox]) {
      if (row.readySince !== step || row.claimed) continue;
      const isWoken = this.#woken.has(`${row.box} ${row.channel}`);
      assert.ok(
        isWoken,
        `${row.id} has become claimable${passed ? ' in time' : ''}, nobody was woken`,
      );
    }
  }

  #listen(): void {
    this.#listening = this.#world.ledger;
    this.#listening.onReady((box, channel) => this.#woken.add(`${box} ${channel}`));
  }
}

function count<T>(rows: readonly T[], is: (row: T) => boolean): number {
  let found = 0;
  for (const row of rows) if (is(row)) found++;
  return found;
}

/** Like assert.equal, but quick where both are equal. */
function equal(actual: number, expected: number, what: string): void {
  if (actual !== expected) assert.fail(`${what}: ${actual} instead of ${expected}`);
}
