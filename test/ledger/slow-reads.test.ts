/** The ledger over a storage that is slow to read the texts of restored rows. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ConversationId, MessageId } from '../../src/domain/ids.ts';
import type { Message } from '../../src/domain/message.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { QueueLedger } from '../../src/ledger/engine/engine.ts';
import { memoryLimits, MemoryStorage } from '../../src/ledger/memory/memory.ts';
import { StoryRing } from '../../src/ledger/memory/story-ring.ts';
import type { Row } from '../../src/ledger/engine/queue.ts';
import { WorkingSet } from '../../src/ledger/engine/working-set.ts';
import { hook, ids, noneIn, said, takeIn, textsIn, type Bench } from '../contract/ledger/kit.ts';

const ann = 'ann' as ConversationId;

class SlowlyRead extends MemoryStorage {
  readonly #texts: ReadonlyMap<MessageId, Message>;
  /** The number of rows in each read. */
  readonly asked: number[] = [];
  #reading = Promise.withResolvers<void>();

  constructor(texts: ReadonlyMap<MessageId, Message>) {
    super(memoryLimits, new StoryRing());
    this.#texts = texts;
  }

  override async read(rows: readonly Row[]): Promise<void> {
    this.asked.push(rows.length);
    await this.#reading.promise;
    for (const row of rows) {
      if (row.box === 'in') row.message = this.#texts.get(row.head.id)!;
    }
  }

  answer(): void {
    this.#reading.resolve();
  }

  fail(): void {
    this.#reading.reject(new Error('the disk is gone'));
  }
}

suite('a restored row', () => {
  test('is handed out once, whole, when it has been read', async () => {
    await using it = open('one', 'two');
    const claiming = takeIn(it, 5);
    assert.deepEqual(await takeIn(it, 5), []);
    it.storage.answer();
    assert.deepEqual(textsIn(await claiming), ['one']);
    assert.deepEqual(it.storage.asked, [1]);
    await it.ledger.release((await claiming)[0]!);
    assert.deepEqual(textsIn(await takeIn(it, 5)), ['one']);
    assert.deepEqual(it.storage.asked, [1], 'it is not read again');
  });

  test('that is taken away meanwhile is not handed out, and holds up nothing', async () => {
    await using it = open('one', 'two');
    const claiming = takeIn(it, 5);
    await it.ledger.forget({ kind: 'conversation', channel: hook, conversation: ann });
    await it.ledger.accept([said('ann', 'three')]);
    it.storage.answer();
    assert.deepEqual(await claiming, []);
    assert.deepEqual(textsIn(await takeIn(it, 5)), ['three']);
    const { inboxWaiting, inboxClaimed } = it.ledger.gauges();
    assert.deepEqual([inboxWaiting, inboxClaimed], [0, 1]);
  });

  test('is not handed out when the ledger has ended meanwhile', async () => {
    await using it = open('one');
    const claiming = takeIn(it, 5);
    await it.ledger[Symbol.asyncDispose]();
    it.storage.answer();
    assert.deepEqual(await claiming, []);
    const { inboxWaiting, inboxClaimed } = it.ledger.gauges();
    assert.deepEqual([inboxWaiting, inboxClaimed], [1, 0]);
  });

  test('that cannot be read when the ledger has ended meanwhile is no fault', async () => {
    await using it = open('one');
    const claiming = takeIn(it, 5);
    await it.ledger[Symbol.asyncDispose]();
    it.storage.fail();
    assert.deepEqual(await claiming, []);
    assert.deepEqual(it.faults, []);
  });

  test('that cannot be read is the end of the storage, which is told once', async () => {
    await using it = open('one');
    const claiming = takeIn(it, 5);
    it.storage.fail();
    assert.deepEqual(await claiming, []);
    assert.equal(it.faults.length, 1);
    await noneIn(it);
    assert.equal(it.ledger.gauges().inboxWaiting, 1, 'it is not lost');
  });
});

/** Opens a ledger that restored these messages in the conversation of ann. */
function open(...texts: readonly string[]) {
  const rows = new WorkingSet(systemClock);
  const known = new Map<MessageId, Message>();
  for (const [at, text] of texts.entries()) {
    const { dedupeKey: _, ...facts } = said(ann, text);
    const message: Message = { ...facts, sensitivity: 'public', id: ids.message(), acceptedAt: at };
    known.set(message.id, message);
    const head = { id: message.id, acceptedAt: at };
    const stored = { head, channel: hook, conversation: ann, seq: at + 1, bytes: 1, sender: 'ann' };
    rows.restoreMessage(stored);
  }
  const storage = new SlowlyRead(known);
  const faults: unknown[] = [];
  const onFault = (error: unknown): void => void faults.push(error);
  const ledger = new QueueLedger({ ...systemClock, ids, rows, storage, news: {}, onFault });
  const bench: Bench = {
    ledger,
    reopen: () => Promise.reject(new Error('it keeps nothing')),
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
  return { ...bench, storage, faults };
}
