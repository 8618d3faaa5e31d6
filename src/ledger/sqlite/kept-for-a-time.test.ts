/** What the sweep deletes, and what it leaves unchanged. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { asks, decide, follows } from '../../../test/contract/ledger/approvals.ts';
import {
  accept,
  answer,
  deliver,
  exchange,
  hook,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  said,
  takeIn,
  until,
  type Bench,
} from '../../../test/contract/ledger/kit.ts';
import { charge, used } from '../../../test/contract/ledger/spend.ts';
import { ended, LedgerFolder } from '../../../test/fake/ledger-folder.ts';
import { sweep } from './write/sweep.ts';
import { patienceMs } from '../../../test/support/waiting.ts';

const dayMs = 86_400_000;

/** A second connection, which waits for the ledger's. */
const openBeside = (path: string): DatabaseSync => new DatabaseSync(path, { timeout: patienceMs });

suite('what is kept for a time', () => {
  test('is deleted after it, except what is not settled', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    await exchange(it, 'ann', 'one', 'a');
    await accept(it, said('bob', 'waits'));
    const path = place.path;
    await deliver(it, await oneOut(it));
    await exchangeWith(it);
    await ended(it.ledger);

    const db = openBeside(path);
    const count = (table: string): number =>
      Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()!['n']);
    sweep(db, 30, Date.now() + 29 * dayMs);
    assert.deepEqual([count('inbox'), count('outbox'), count('turns')], [3, 1, 2]);
    sweep(db, 0, Date.now() + 300 * dayMs);
    assert.equal(count('inbox'), 3, '0 days: for ever');
    sweep(db, 30, Date.now() + 31 * dayMs);
    const unsettled = db.prepare('SELECT count(*) AS n FROM inbox WHERE state = 0').get()!['n'];
    assert.deepEqual([unsettled, count('traces')], [1, 0]);
    assert.equal(count('turns'), 2, 'conversations stay');
    db.close();

    const again = await place.open();
    const waiting = await oneIn(again);
    assert.equal(waiting.message.text, 'waits');
    await answer(again, waiting, 'b');
    await exchange(again, 'ann', 'two', 'c');
    await accept(again, said('ann', 'three'));
    assert.equal((await oneIn(again)).memory.turns.length, 2);
  });

  test('what was read of what came with a message goes with it', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    await accept(it, said('ann', 'one'), said('bob', 'two'));
    const [ann, bob] = await takeIn(it, 2);
    const read = [{ kind: 'text', name: 'a.txt', text: 'a' }] as const;
    for (const claim of [ann!, bob!]) await it.ledger.attachments.keep(claim, read);
    await answer(it, ann!);
    await ended(it.ledger);
    const db = openBeside(place.path);
    const remaining = (): number =>
      Number(db.prepare('SELECT count(*) AS n FROM attachments').get()!['n']);
    sweep(db, 30, Date.now() + 29 * dayMs);
    assert.equal(remaining(), 2);
    db.exec('UPDATE outbox SET state = 1, settled_at = 0');
    sweep(db, 30, Date.now() + 31 * dayMs);
    sweep(db, 30, Date.now() + 31 * dayMs);
    assert.equal(remaining(), 1, 'of the one that waits');
    db.close();
    const again = await place.open();
    await again.ledger.forget({ kind: 'sender', channel: hook, sender: 'sender of bob' });
    const after = openBeside(place.path);
    assert.equal(after.prepare('SELECT count(*) AS n FROM attachments').get()!['n'], 0);
    after.close();
  });

  test('an approval goes after it once it is settled, and never before', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    const [settled, owed, waits] = await asks(it, 'ann', [{}, {}, {}]);
    for (const one of [settled!, owed!]) await decide(it, one);
    await follows(it, 'ann', settled!, 'done');
    await ended(it.ledger);
    const db = openBeside(place.path);
    const remaining = (days: number, later: number): readonly unknown[] => {
      sweep(db, days, Date.now() + later * dayMs);
      return db
        .prepare('SELECT id FROM approvals ORDER BY id')
        .all()
        .map(({ id }) => id);
    };
    const all = [settled!.id, owed!.id, waits!.id];
    assert.deepEqual(remaining(30, 29), all);
    assert.deepEqual(remaining(0, 400), all, '0 days: for ever');
    assert.deepEqual(remaining(30, 400), all.slice(1));
    db.close();
  });

  for (const [retentionDays, remaining] of [
    [30, 1],
    [0, 2],
  ] as const) {
    test(`${retentionDays} days of keeping are looked after from the start on`, async () => {
      await using place = await LedgerFolder.make();
      const it = await place.open();
      await exchange(it, 'ann', 'one', 'a');
      await exchange(it, 'ann', 'two', 'b');
      await ended(it.ledger);
      const db = openBeside(place.path);
      const settledAt = Date.now() - 31 * dayMs;
      db.exec(`UPDATE outbox SET state = 1, settled_at = ${settledAt}`);
      db.exec(`UPDATE inbox SET settled_at = ${settledAt}`);
      await place.open({ retentionDays });
      const count = (): unknown => db.prepare('SELECT count(*) AS n FROM inbox').get()!['n'];
      await until(`${remaining} of them are left`, () => count() === remaining);
      db.close();
    });
  }

  test('numbers go on where they were when everything has been deleted', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    for (const text of ['one', 'two', 'three']) await exchange(it, 'ann', text);
    await ended(it.ledger);
    const db = openBeside(place.path);
    sweep(db, 30, Date.now() + 31 * dayMs);
    db.close();
    const again = await place.open();
    await exchange(again, 'ann', 'four');
    await accept(again, said('ann', 'five'));
    const { turns } = (await oneIn(again)).memory;
    assert.deepEqual(
      turns.map(({ text }) => text),
      ['one', 'two', 'three', 'four'],
    );
  });

  test('a key that has expired is new again', async () => {
    await using place = await LedgerFolder.make();
    let now = Date.now();
    const it = await place.open({ now: () => now });
    const [first] = await accept(it, said('ann', 'hi', { dedupeKey: 'k' }));
    now += 6 * dayMs;
    assert.equal((await accept(it, said('ann', 'hi', { dedupeKey: 'k' })))[0]!.duplicate, true);
    now += 2 * dayMs;
    const [second] = await accept(it, said('ann', 'hi', { dedupeKey: 'k' }));
    assert.equal(second!.duplicate, false);
    assert.notEqual(second!.id, first!.id);
  });

  test('spend of senders goes with the texts, and all of it after 400 days', async () => {
    await using place = await LedgerFolder.make();
    // The ledger itself sweeps too.
    const it = await place.open({ retentionDays: 0 });
    const now = Date.now();
    for (const ago of [401, 399, 31, 29]) {
      const day = new Date(now - ago * dayMs).toISOString().slice(0, 10);
      it.ledger.spend.settle(charge({ day, brain: `d${ago}` }), null, used(1));
    }
    await ended(it.ledger);
    const db = openBeside(place.path);
    const remaining = (where: string): unknown[] => {
      const select = `SELECT brain FROM spend WHERE channel ${where} '' ORDER BY day`;
      return db
        .prepare(select)
        .all()
        .map(({ brain }) => brain);
    };
    sweep(db, 0, now);
    assert.deepEqual(
      [remaining('='), remaining('<>')],
      [
        ['d399', 'd31', 'd29'],
        ['d399', 'd31', 'd29'],
      ],
    );
    sweep(db, 30, now);
    assert.deepEqual([remaining('='), remaining('<>')], [['d399', 'd31', 'd29'], ['d29']]);
    db.close();
  });

  test('with too little room on the disk nothing comes in', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open({ limits: { freeBytesMin: Number.MAX_SAFE_INTEGER } });
    await until('the disk has been looked at', () => it.ledger.room().messages === 0);
    const refusal = await it.ledger.accept([said('ann', 'hi')]);
    assert.ok(refusal.kind === 'refused' && refusal.reason === 'full');
    await noneIn(it);
    await noneOut(it);
  });
});

/** One message of cid, answered without a reply while bob's message waits. */
async function exchangeWith(it: Bench): Promise<void> {
  await accept(it, said('cid', 'quiet'));
  const claims = await takeIn(it, 5);
  for (const claim of claims) {
    if (claim.message.conversation === 'cid') await answer(it, claim);
    else await it.ledger.release(claim);
  }
}
