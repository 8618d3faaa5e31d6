/**
 * The ledger over a storage that commits when the test allows it, after its own end, or never. It
 * is also a third backend, which keeps every promise of the contract.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { steadyNow } from '../../src/lib/clock.ts';
import { failure } from '../../src/domain/failure.ts';
import type { ConversationId, MessageId } from '../../src/domain/ids.ts';
import { CrashIsolation } from '../../src/ledger/engine/crash-isolation.ts';
import { QueueLedger } from '../../src/ledger/engine/engine.ts';
import type { InRow } from '../../src/ledger/engine/queue.ts';
import { WorkingSet, type MergeClock } from '../../src/ledger/engine/working-set.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { testLedgerContract } from '../contract/ledger.ts';
import { clockAtHand, openSound, type Backend } from '../contract/ledger/backends.ts';
import {
  accepted,
  effects,
  hook,
  isSettled,
  newIds,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  said,
  takeIn,
  type Bench,
  type Limits,
} from '../contract/ledger/kit.ts';
import { HeldStorage } from '../fake/held-storage.ts';

const why = failure('server_error');
const hot = { park: false, possibleDuplicate: false };

/** Commits one turn of the event loop after the request, several at once. */
const lateBackend: Backend = {
  durable: false,
  async open(limits, plant) {
    const { clock, ...hands } = clockAtHand();
    const storage = new HeldStorage(limits, (held) => void setImmediate(() => held.commit()));
    const ledger = plant(ledgerOver(storage, clock));
    return {
      ledger,
      ...hands,
      reopen: () => Promise.reject(new Error('it keeps nothing')),
      [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
    };
  },
};

testLedgerContract('late', lateBackend, openSound(lateBackend));

suite('what is on its way to the storage', () => {
  test('counts against the bound, and is not handed out', async () => {
    await using it = open({ messagesMax: 2 });
    const accepting = it.ledger.accept([said('ann', 'one')]);
    assert.equal(it.ledger.room().messages, 1);
    assert.ok(it.ledger.room().bytes < open().ledger.room().bytes);
    const both = await it.ledger.accept([said('bob', 'two'), said('cid', 'three')]);
    assert.ok(both.kind === 'refused' && both.reason === 'full');
    await noneIn(it);
    it.storage.commit();
    assert.equal((await accepting).kind, 'accepted');
    assert.equal(it.ledger.room().messages, 1);
    await oneIn(it);
  });

  test('that was refused by the storage gives its room back', async () => {
    await using it = open({ messagesMax: 1 });
    const accepting = it.ledger.accept([said('ann', 'one')]);
    const waiting = it.ledger.whenRoom(new AbortController().signal);
    it.storage.fail(new Error('the disk is gone'));
    const refusal = await accepting;
    assert.ok(refusal.kind === 'refused' && refusal.reason === 'storage_failed');
    assert.equal(it.ledger.room().messages, 1);
    await waiting;
  });

  test('as a turn keeps its queue, and its replies are not out yet', async () => {
    await using it = open();
    await it.accept('ann', 'one', 'two');
    const claim = await oneIn(it);
    const written = it.ledger.complete(claim, effects(claim, ['a']));
    assert.equal(await it.ledger.complete(claim, effects(claim, ['b'])), false, 'it ended before');
    await noneIn(it);
    await noneOut(it);
    assert.equal(await isSettled(written), false);
    it.storage.commit();
    assert.equal(await written, true);
    assert.equal((await oneIn(it)).message.text, 'two');
    assert.equal((await oneOut(it)).reply.text, 'a');
  });

  test('as a deferral counts as an attempt only then', async () => {
    await using it = open();
    const out = await it.replyOf('ann', 'a');
    const deferring = it.ledger.defer(out, Date.now() + 3_600_000, why, { ...hot, park: true });
    assert.equal(it.ledger.gauges().outboxDeferred, 0);
    it.storage.commit();
    assert.equal(await deferring, true);
    assert.equal(it.ledger.gauges().outboxDeferred, 1);
  });

  test('as a reply that is to be tried now is not handed out yet, nor once forgotten', async () => {
    await using it = open();
    for (const isForgotten of [false, true]) {
      const out = await it.replyOf('ann', 'a');
      const { id } = out.reply;
      const deferring = it.ledger.defer(out, Date.now() + 3_600_000, why, hot);
      it.storage.commit();
      await deferring;
      const trying = it.ledger.deferred.tryNow({ kind: 'one', id }, 1);
      assert.equal(await isSettled(trying), false);
      await noneOut(it);
      assert.equal(it.ledger.gauges().outboxDeferred, 0);
      const conversation = 'ann' as ConversationId;
      const whose = { kind: 'conversation', channel: hook, conversation } as const;
      const theirs = { whose, beforeId: 'z'.repeat(22) as MessageId };
      const forgotten = isForgotten ? it.storage.told.forgetHere(theirs, new Set()) : null;
      it.storage.commit();
      await forgotten;
      assert.deepEqual(await trying, { kind: 'moved', moved: 1, more: false });
      if (isForgotten) return noneOut(it);
      const delivered = it.ledger.delivered(await oneOut(it));
      it.storage.commit();
      await delivered;
    }
  });

  test('as a call that could not be written down may be asked for again', async () => {
    await using it = open();
    await it.accept('ann', 'one');
    const claim = await oneIn(it);
    const use = { at: 1, tool: 'webhook_call', mode: 'allow', rule: 'a rule' } as const;
    const call = {
      ...use,
      key: 'a key',
      hash: 'a hash',
      arguments: '{}',
      sensitivity: 'public',
    } as const;
    const unwritten = it.ledger.calls.logCall(claim, call);
    assert.equal(await isSettled(unwritten), false);
    it.storage.refuse();
    assert.deepEqual(await unwritten, { kind: 'unwritten' });
    const again = it.ledger.calls.logCall(claim, call);
    assert.equal(await isSettled(again), false);
    it.storage.commit();
    assert.deepEqual(await again, { kind: 'run' });
  });

  test('leaves nothing behind when it is forgotten meanwhile', async () => {
    await using it = open();
    await it.accept('ann', 'one');
    const claim = await oneIn(it);
    const turn = it.ledger.complete(claim, effects(claim, ['a']));
    const accepting = it.ledger.accept([said('ann', 'on its way')]).then(accepted);
    const whose = { channel: hook, conversation: 'ann' as ConversationId };
    const forgotten = it.ledger.forget({ kind: 'conversation', ...whose });
    const after = it.ledger.accept([said('ann', 'after it')]);
    assert.equal(await isSettled(forgotten), false);
    it.storage.commit();
    await Promise.all([turn, forgotten, after]);
    await (
      await accepting
    )[0]!.safe;
    await noneOut(it);
    assert.equal((await oneIn(it)).message.text, 'after it');
    assert.equal(it.ledger.unsettled(9).length, 1);
  });
});

suite('after a commit that failed', () => {
  test('nothing ended well, and nothing is handed out or taken in', async () => {
    const faults: unknown[] = [];
    await using it = open({}, (error) => faults.push(error));
    const waits = await it.replyOf('ann', 'a', 'b');
    const dies = await it.replyOf('bob', 'c');
    await it.accept('cid', 'one');
    await it.accept('dee', 'two');
    const [cid] = await takeIn(it, 1);
    const ends = [
      it.ledger.complete(cid!, effects(cid!, ['d'])),
      it.ledger.delivered(waits),
      it.ledger.deadLetter(dies, why),
      it.ledger.recordWrite({ at: 1, action: 'replay', target: {}, status: 200, reason: null }),
    ];
    const forgotten = it.ledger.forget({ kind: 'sender', channel: hook, sender: 'nobody' });
    const rejected = assert.rejects(forgotten, /storage has failed/);
    it.storage.fail(new Error('the disk is gone'));
    assert.deepEqual(await Promise.all(ends), [false, false, false, false]);
    await rejected;
    assert.equal(it.ledger.gauges().deadLetters, 0);
    await noneIn(it);
    await noneOut(it);
    const refusal = await it.ledger.accept([said('eve', 'late')]);
    assert.ok(refusal.kind === 'refused' && refusal.reason === 'storage_failed');
    assert.equal(faults.length, 1);
    it.storage.fail(new Error('again'));
    assert.equal(faults.length, 1, 'it is told once');
  });

  test('what was never under way is given back, and stays unclaimed', async () => {
    await using it = open();
    await it.accept('ann', 'one');
    const claim = await oneIn(it);
    it.storage.fail(new Error('the disk is gone'));
    await it.ledger.release(claim);
    await noneIn(it);
    assert.equal(it.ledger.gauges().inboxWaiting, 1);
  });

  test('what is unroutable for too long is no dead letter either', async () => {
    let now = Date.now();
    await using it = open({}, undefined, () => now);
    await it.accept('ann', 'one');
    it.storage.fail(new Error('the disk is gone'));
    it.ledger.serve([]);
    now += 8 * 86_400_000;
    it.ledger.serve([]);
    assert.equal(it.ledger.gauges().inboxWaiting, 1);
    assert.equal(it.buried, 0, 'nobody is told what did not happen');
  });
});

test('a suspect whose mark is on the disk after a failure only is not handed out', async () => {
  const clock = { now: Date.now, steady: steadyNow };
  const rows = new WorkingSet(clock);
  const marked = Promise.withResolvers<boolean>();
  const marks: number[] = [];
  const mark = (_row: InRow, alone: number): Promise<boolean> => (
    marks.push(alone),
    marked.promise
  );
  const limits = { aloneMs: 60_000, besideMs: 0, stallMs: 60_000 };
  const deps = { rows, steady: steadyNow, limits, mark, clear: () => {} };
  const stored = { seq: 1, bytes: 1, sender: 'ann', channel: hook };
  const head = { id: 'm1' as MessageId, acceptedAt: 1 };
  rows.restoreMessage({ ...stored, head, conversation: 'ann' as ConversationId });
  const row = rows.take('in', hook)!;
  assert.ok(row.box === 'in');
  rows.holdAgain(row);
  row.message = { ...said('ann', 'one'), ...head, sensitivity: 'public' };
  const storage = new StorageWithSuspects(new CrashIsolation([{ row, alone: 0 }], deps));
  await using ledger = new QueueLedger({ ...clock, ids: newIds(), rows, storage, news: {} });
  const claiming = ledger.claim('in', hook, 1);
  storage.fail(new Error('the disk is gone'));
  marked.resolve(true);
  assert.deepEqual(await claiming, []);
  assert.deepEqual([row.taken, row.queue.inBusy, marks], [false, true, [1, 0]]);
});

class StorageWithSuspects extends HeldStorage {
  override readonly crashIsolation: CrashIsolation;

  constructor(crashIsolation: CrashIsolation) {
    super();
    this.crashIsolation = crashIsolation;
  }
}

class LateBench implements Bench {
  readonly storage: HeldStorage;
  readonly ledger: Ledger;
  buried = 0;

  constructor(limits: Limits, onFault: (error: unknown) => void, now: () => number) {
    this.storage = new HeldStorage(limits);
    this.ledger = ledgerOver(
      this.storage,
      { now, steady: steadyNow },
      onFault,
      () => void this.buried++,
    );
  }

  reopen(): Promise<void> {
    return Promise.reject(new Error('it keeps nothing'));
  }

  /** Accepts messages of one conversation, each in a commit of its own. */
  async accept(who: string, ...texts: string[]): Promise<void> {
    const accepting = texts.map((text) => this.ledger.accept([said(who, text)]));
    this.storage.commit();
    for (const { kind } of await Promise.all(accepting)) assert.equal(kind, 'accepted');
  }

  /** Answers a message with these replies, and returns the claim of the first one. */
  async replyOf(who: string, ...texts: string[]) {
    await this.accept(who, 'hi');
    const claim = await oneIn(this);
    const written = this.ledger.complete(claim, effects(claim, texts));
    this.storage.commit();
    assert.equal(await written, true);
    return oneOut(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.ledger[Symbol.asyncDispose]();
  }
}

function open(
  limits: Limits = {},
  onFault: (error: unknown) => void = () => {},
  now = Date.now,
): LateBench {
  return new LateBench(limits, onFault, now);
}

function ledgerOver(
  storage: HeldStorage,
  clock: MergeClock,
  onFault: (error: unknown) => void = () => {},
  buried: () => void = () => {},
): Ledger {
  const news = { buried };
  return new QueueLedger({
    ...clock,
    ids: newIds(),
    rows: new WorkingSet(clock),
    storage,
    news,
    onFault,
  });
}
