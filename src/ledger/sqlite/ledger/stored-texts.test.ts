/** Which parts of a backlog a start loads, and which it reads only when a row is handed out. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import {
  accept,
  answer,
  newIds,
  oneIn,
  said,
  takeIn,
  takeOut,
  textsIn,
  textsOut,
  hook,
  type Bench,
} from '../../../../test/contract/ledger/kit.ts';
import { systemClock } from '../../../lib/clock.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import { openSqliteLedger } from '../sqlite.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';

test('a backlog keeps its order, its sum and its senders, and is handed out whole', async () => {
  await using place = await Place.make();
  const it = await place.open();
  await accept(it, said('ann', 'answered'));
  await answer(it, await oneIn(it), 'reply one', 'reply two');
  await accept(it, said('ann', 'one'), said('bob', 'two', { media }), said('ann', 'three'));
  const before = { ids: it.ledger.unsettled(10), backlog: it.ledger.backlog() };
  const held = it.ledger.gauges().bytesHeld;

  const again = await place.open();
  assert.deepEqual({ ids: again.ledger.unsettled(10), backlog: again.ledger.backlog() }, before);
  const { bytesHeld } = again.ledger.gauges();
  assert.ok(Math.abs(bytesHeld - held) < 1_000, `${held} bytes have become ${bytesHeld}`);
  const claims = await takeIn(again, 10);
  assert.deepEqual(textsIn(claims), ['one', 'two']);
  assert.deepEqual(claims[1]!.message.media, media);
  assert.deepEqual(claims[1]!.message.sender, { id: 'sender of bob', name: null });
  const [first] = await takeOut(again, 10);
  assert.equal(first!.reply.text, 'reply one');
  assert.equal(await again.ledger.delivered(first!), true);
  await again.ledger.release(claims[0]!);
  assert.deepEqual(textsIn(await takeIn(again, 10)), ['one'], 'what is given back is whole');
});

test('what nobody has claimed since the start is deleted as well', async () => {
  await using place = await Place.make();
  const it = await place.open();
  const carol = { sender: { id: 'carol', name: null } };
  await accept(it, said('room', 'one', carol), said('room', 'two'), said('ann', 'three'));
  const again = await place.open();
  assert.equal(await again.ledger.forget({ kind: 'sender', channel: hook, sender: 'carol' }), 1);
  const ann = {
    kind: 'conversation',
    channel: hook,
    conversation: 'ann' as ConversationId,
  } as const;
  assert.equal(await again.ledger.forget(ann), 1);
  assert.deepEqual(textsIn(await takeIn(again, 10)), ['two']);
  assert.equal(again.ledger.gauges().inboxWaiting, 0);
});

for (const box of ['inbox', 'outbox'] as const) {
  test(`a text of the ${box} that cannot be read ends the storage, and loses nothing`, async () => {
    await using place = await Place.make();
    const it = await place.open();
    await accept(it, said('bob', 'was answered'));
    await answer(it, await oneIn(it), 'reply');
    await accept(it, said('ann', 'waits'));
    const faults: unknown[] = [];
    const again = await place.open((error) => faults.push(error));
    const take = async (): Promise<readonly string[]> =>
      box === 'inbox' ? textsIn(await takeIn(again, 5)) : textsOut(await takeOut(again, 5));
    place.run(`ALTER TABLE ${box} RENAME TO elsewhere`);
    assert.deepEqual(await take(), []);
    assert.deepEqual(await take(), []);
    assert.equal(faults.length, 1);
    place.run(`ALTER TABLE elsewhere RENAME TO ${box}`);
    const third = await place.open();
    assert.deepEqual(textsIn(await takeIn(third, 5)), ['waits']);
    assert.deepEqual(textsOut(await takeOut(third, 5)), ['reply']);
  });
}

const damaged = {
  'cut short': "'{'",
  'with a line break in a text': 'replace(body, \'"text":"\', \'"text":"\' || char(10))',
  'with a comma at its end': "rtrim(body, '}') || ',}'",
  'without what it says': "'{}'",
};
for (const box of ['inbox', 'outbox']) {
  for (const [how, body] of Object.entries(damaged)) {
    test(`a start refuses a row of the ${box} whose JSON is ${how}`, async () => {
      await using place = await Place.make();
      const it = await place.open();
      await accept(it, said('ann', 'hi'), said('ann', 'again'));
      await answer(it, await oneIn(it), 'reply');
      await place.end();
      place.run(`UPDATE ${box} SET body = ${body} WHERE state = 0`);
      const problem = await place.try();
      assert.ok('kind' in problem && problem.code === 'storage_unusable');
    });
  }
}

const media = { type: 'image/png', reference: 'cat.png' };

/** One database, and the ledger that has it open. */
class Place implements AsyncDisposable {
  readonly #folder: string;
  #open: AsyncDisposable | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(): Promise<Place> {
    return new Place(await mkdtemp(join(tmpdir(), 'svc-stored-')));
  }

  /** Opens the ledger, after closing the one before. */
  async open(onFault: (error: unknown) => void = () => {}): Promise<Bench> {
    const ledger = await this.try(onFault);
    if ('kind' in ledger) throw new Error(ledger.message);
    return { ledger, reopen: () => Promise.reject(), [Symbol.asyncDispose]: () => this.end() };
  }

  async try(onFault: (error: unknown) => void = () => {}) {
    await this.end();
    const options = { path: this.#path, ...systemClock, ids: newIds(), retentionDays: 30, onFault };
    const ledger = await openSqliteLedger(options);
    if (!('kind' in ledger)) this.#open = ledger;
    return ledger;
  }

  run(sql: string): void {
    const db = new DatabaseSync(this.#path, { timeout: patienceMs });
    db.exec(sql);
    db.close();
  }

  async end(): Promise<void> {
    await this.#open?.[Symbol.asyncDispose]();
    this.#open = null;
  }

  get #path(): string {
    return join(this.#folder, 'svc.db');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await rm(this.#folder, { recursive: true });
  }
}
