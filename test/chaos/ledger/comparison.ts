/** What the ledger says of itself, held against the reference. */
import assert from 'node:assert/strict';
import type { Receipt } from '../../../src/channel/channel.ts';
import type { Claim, InClaim, Ledger, OutClaim } from '../../../src/store/store.ts';
import { sameBatch } from './reference.ts';
import type { Expected, MessageRow, Reference, ReplyRow, Row } from './reference.ts';
import type { World } from './worlds.ts';

/** Whether a receipt has been called safe. */
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
    assert.equal(receipts.length, expected.duplicateOf.length, 'a receipt each');
    const ids = new Set<string>();
    for (const [i, { id, duplicate, safe }] of receipts.entries()) {
      const first: string | null = expected.duplicateOf[i]!;
      assert.equal(duplicate, first !== null, 'a repeat is told as one, and nothing else is');
      if (first?.length === 22) assert.equal(id, first, 'a repeat has the id of the first');
      if (first === sameBatch) assert.ok(ids.has(id), 'repeated in its batch');
      if (first === null) assert.ok(!ids.has(id), 'a new id');
      ids.add(id);
      const watched = { id, safe: false };
      this.#watched.push(watched);
      void safe.then(() => (watched.safe = true));
    }
  }

  /**
   * These, and only these: as many as there may be, and no younger one before an older.
   * @returns the row of each
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
    assert.deepEqual(claim.memory, this.#model.memoryOf(row), 'what is remembered');
  }

  outClaim(claim: OutClaim, row: ReplyRow): void {
    assert.equal(claim.box, 'out');
    assert.deepEqual(claim.reply, row.reply);
    const { attempt, attemptOfSchedule, possibleDuplicate, late } = claim;
    assert.deepEqual(
      { attempt, attemptOfSchedule, possibleDuplicate, late },
      {
        attempt: row.attempt,
        attemptOfSchedule: row.attempt,
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
    const { inbox, outbox, now, messagesMax, room, deadLetters } = this.#model;
    const gauges = ledger.gauges();
    const inClaimed = inbox.filter(({ claimed }) => claimed).length;
    const outClaimed = outbox.filter(({ claimed }) => claimed).length;
    const deferred = outbox.filter((row) => !row.claimed && (row.dueAt ?? 0) > now).length;
    const { inboxWaiting, inboxClaimed, outboxWaiting, outboxClaimed, outboxDeferred } = gauges;
    assert.deepEqual(
      { inboxWaiting, inboxClaimed, outboxWaiting, outboxClaimed, outboxDeferred },
      {
        inboxWaiting: inbox.length - inClaimed,
        inboxClaimed: inClaimed,
        outboxWaiting: outbox.length - outClaimed - deferred,
        outboxClaimed: outClaimed,
        outboxDeferred: deferred,
      },
      'the gauges',
    );
    const lanes = new Set([...inbox, ...outbox].map(({ lane }) => lane));
    assert.equal(gauges.conversationsAtWork, lanes.size, 'conversations at work');
    assert.equal(gauges.deadLetters, deadLetters, 'dead letters');
    assert.equal(gauges.commitsPending, 0, 'commits pending');
    assert.equal(gauges.messagesMax, messagesMax);
    assert.equal(ledger.room().messages, room, 'room');
    assert.equal(ledger.room().bytes, gauges.bytesMax - gauges.bytesHeld, 'room in bytes');
    const rows = inbox.length + outbox.length;
    assert.ok(rows === 0 ? gauges.bytesHeld === 0 : gauges.bytesHeld >= 512 * rows, 'bytes held');
    const ids = [...inbox, ...outbox].map(({ id }) => id).sort();
    assert.deepEqual([...ledger.unsettled(10_000)].sort(), ids, 'what is unsettled');
    this.#backlog();
  }

  #backlog(): void {
    const count = (rows: readonly Row[], of: string): number =>
      rows.filter(({ channel }) => channel === of).length;
    const { inbox, outbox } = this.#model;
    const channels = [...new Set([...inbox, ...outbox].map(({ channel }) => channel))].sort();
    const expected = channels.map((channel) => {
      return { channel, inbox: count(inbox, channel), outbox: count(outbox, channel) };
    });
    const backlog = [...this.#world.ledger.backlog()];
    backlog.sort((a, b) => (a.channel < b.channel ? -1 : 1));
    assert.deepEqual(backlog, expected, 'the backlog');
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

  /** What has become claimable in this step, or was given back in it, has woken its pump. */
  #wakes(passed: boolean): void {
    const step = this.#model.step - 1;
    for (const row of [...this.#model.inbox, ...this.#model.outbox]) {
      if (row.readySince !== step || row.claimed) continue;
      const told = this.#woken.has(`${row.box} ${row.channel}`);
      assert.ok(
        told,
        `${row.id} has become claimable${passed ? ' in time' : ''}, nobody was woken`,
      );
    }
  }

  #listen(): void {
    this.#listening = this.#world.ledger;
    this.#listening.onReady((box, channel) => this.#woken.add(`${box} ${channel}`));
  }
}
