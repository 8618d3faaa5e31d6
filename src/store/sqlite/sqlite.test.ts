/** What the SQLite form alone has: files, owners, crashes, damage. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { systemClock } from '../../lib/clock.ts';
import {
  accept,
  answer,
  deliver,
  exchange,
  ids,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  said,
  takeIn,
  takeOut,
  until,
} from '../../../test/contract/ledger/kit.ts';
import { failure } from '../../domain/failure.ts';
import type { Ledger, OutClaim } from '../store.ts';
import type { StoreProblem } from '../problem.ts';
import { openSqliteLedger, type SqliteOptions } from './sqlite.ts';
import { sweep } from './write/sweep.ts';

const dayMs = 86_400_000;

/** A folder of its own, and the ledgers that were opened in it. */
class Scratch implements AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  readonly #opened: Ledger[] = [];

  constructor(folder: string) {
    this.folder = folder;
    this.path = join(folder, 'data', 'svc.db');
  }

  static async make(): Promise<Scratch> {
    return new Scratch(await mkdtemp(join(tmpdir(), 'svc-sqlite-')));
  }

  async open(more: Partial<SqliteOptions> = {}): Promise<{ readonly ledger: Ledger } & Bench> {
    const ledger = await this.try(more);
    if ('kind' in ledger) throw new Error(ledger.message);
    return { ledger, reopen: () => Promise.reject(), [Symbol.asyncDispose]: () => ended(ledger) };
  }

  async try(more: Partial<SqliteOptions> = {}): Promise<Ledger | StoreProblem> {
    const options = { path: this.path, ...systemClock, ids, retentionDays: 30, ...more };
    const opened = await openSqliteLedger(options);
    if (!('kind' in opened)) this.#opened.push(opened);
    return opened;
  }

  /** Opening must fail with this code, in a sentence that names the file. */
  async refuses(code: string): Promise<void> {
    const problem = await this.try();
    assert.ok('kind' in problem, 'it does not open');
    assert.equal(problem.code, code);
    assert.ok(problem.message.includes(this.path), problem.message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const ledger of this.#opened) await ended(ledger);
    await rm(this.folder, { recursive: true });
  }
}

/** Writes beside a ledger, whose thread may be deleting what is old just now. */
const intrude = (place: Scratch): DatabaseSync => new DatabaseSync(place.path, { timeout: 30_000 });

type Bench = Parameters<typeof accept>[0];
const ended = (ledger: Ledger): Promise<void> => ledger[Symbol.asyncDispose]();
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

suite('the files of a ledger', { concurrency: 4 }, () => {
  test('are for this user alone, and so is the folder that was made for them', async () => {
    await using place = await Scratch.make();
    const it = await place.open();
    await accept(it, said('ann', 'hi'));
    assert.equal(await modeOf(join(place.folder, 'data')), 0o700);
    for (const end of ['', '.lock', '-wal', '-shm']) {
      assert.equal(await modeOf(`${place.path}${end}`), 0o600, `svc.db${end}`);
    }
  });

  test('have a log that stays short, however long the texts that are written again', async () => {
    await using place = await Scratch.make();
    const it = await place.open();
    await accept(it, said('ann', 'hi'));
    await answer(it, await oneIn(it), 'x'.repeat(256 * 1_024));
    for (let again = 0; again < 100; again++) {
      let claims: readonly OutClaim[] = [];
      const isBack = async (): Promise<boolean> => (claims = await takeOut(it, 1)).length > 0;
      await until('the reply is there', isBack);
      const at = again % 2 === 0 ? 0 : Date.now();
      const how = { park: false, possibleDuplicate: false };
      await it.ledger.defer(claims[0]!, at, failure('server_error'), how);
    }
    const { size } = await stat(`${place.path}-wal`);
    assert.ok(size < 16 * 1_024 * 1_024, `${size} bytes`);
  });

  test('have one owner at a time', async () => {
    await using place = await Scratch.make();
    const it = await place.open();
    await place.refuses('storage_locked');
    await ended(it.ledger);
    await accept(await place.open(), said('ann', 'hi'));
  });

  test('that another program holds for a moment are waited for', async () => {
    await using place = await Scratch.make();
    await ended((await place.open()).ledger);
    // Holds them as the first reader after a crash does, until it has read the log.
    const other = new DatabaseSync(place.path);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE');
    setTimeout(() => other.close(), 100);
    await using _ = await place.open({ limits: { busyMs: 60_000 } });
  });

  test('of a newer svc are refused and left as they are', async () => {
    await using place = await Scratch.make();
    await ended((await place.open()).ledger);
    const db = new DatabaseSync(place.path);
    db.exec('PRAGMA user_version = 999');
    db.close();
    await place.refuses('storage_newer');
    await place.refuses('storage_newer');
    const after = new DatabaseSync(place.path);
    assert.equal(after.prepare('PRAGMA user_version').get()!['user_version'], 999);
    after.close();
  });

  test('of another program are refused and left as they are', async () => {
    await using place = await Scratch.make();
    await ended((await place.open()).ledger);
    const path = join(place.folder, 'theirs.db');
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)');
    db.close();
    const problem = await place.try({ path });
    assert.ok('kind' in problem && problem.code === 'storage_foreign');
  });

  test('that are no database are refused and left as they are', async () => {
    await using place = await Scratch.make();
    await ended((await place.open()).ledger);
    const text = 'this is a letter, and no database. '.repeat(200);
    for (const end of ['-wal', '-shm']) await rm(`${place.path}${end}`, { force: true });
    await writeFile(place.path, text);
    await place.refuses('storage_foreign');
    assert.equal(await readFile(place.path, 'utf8'), text);
  });

  test('that are damaged are refused', async () => {
    await using place = await Scratch.make();
    const it = await place.open();
    for (let i = 0; i < 50; i++) await accept(it, said(`c${i}`, 'x'.repeat(500)));
    await ended(it.ledger);
    const bytes = await readFile(place.path);
    bytes.fill(0x5a, 4_096);
    await writeFile(place.path, bytes);
    await place.refuses('storage_damaged');
  });

  test('cannot be where no folder can be', async () => {
    await using place = await Scratch.make();
    await writeFile(join(place.folder, 'data'), 'a file, no folder');
    const problem = await place.try();
    assert.ok('kind' in problem);
    assert.ok(problem.message.includes(place.path), problem.message);
  });
});

suite('a ledger whose process was killed', () => {
  test('has everything that was accepted, in order, and marks what may come twice', async () => {
    await using place = await Scratch.make();
    const child = fork(join(import.meta.dirname, '../../../test/fake/ledger-owner.ts'), [
      place.path,
    ]);
    await once(child, 'message');
    await place.refuses('storage_locked');
    child.kill('SIGKILL');
    await once(child, 'exit');

    const it = await place.open();
    assert.equal(it.ledger.gauges().outboxDeferred >= 1, true, 'a due time survives');
    const two = await oneIn(it);
    assert.deepEqual([two.message.text, two.attempt], ['two', 2], 'it had been claimed');
    const [again] = await accept(it, said('bob', 'three', { dedupeKey: 'k' }));
    assert.equal(again!.duplicate, true);
    await answer(it, two);
    const three = await oneIn(it);
    assert.deepEqual([three.message.text, three.attempt], ['three', 1], 'it had waited');

    const outs: OutClaim[] = [];
    const take = async (): Promise<number> => outs.push(...(await takeOut(it, 5)));
    await until('both heads come again', async () => (await take()) === 2);
    const marks = outs.map((claim) => [claim.reply.text, claim.possibleDuplicate, claim.late]);
    assert.deepEqual(
      marks.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      [
        ['a', true, false],
        ['d', true, true],
      ],
    );
    await deliver(
      it,
      outs.find(({ reply }) => reply.text === 'a')!,
    );
    const next = await oneOut(it);
    assert.deepEqual([next.reply.text, next.attempt, next.possibleDuplicate], ['b', 1, false]);
  });
});

suite('a ledger whose commit fails', () => {
  test('refuses from then on, says so once, and keeps what it had', async () => {
    await using place = await Scratch.make();
    const faults: unknown[] = [];
    const it = await place.open({ onFault: (error) => faults.push(error) });
    await accept(it, said('ann', 'safe'), said('bob', 'safe too'));
    const [ann] = await takeIn(it, 1);
    const intruder = intrude(place);
    intruder.exec('DROP TABLE turns');
    intruder.close();

    const refused = await Promise.all([
      it.ledger.complete(ann!, {
        replies: [],
        turn,
        session: null,
        imported: null,
        leftOut: [],
        doubted: [],
        notes: [],
        toolUses: [],
        trace: null,
      }),
      it.ledger.accept([said('cid', 'in the same group')]),
    ]);
    assert.equal(refused[0], false);
    for (const acceptance of [refused[1], await it.ledger.accept([said('dee', 'later')])]) {
      assert.ok(acceptance.kind === 'refused' && acceptance.reason === 'storage_failed');
      assert.ok(acceptance.retryAfterMs > 0);
    }
    assert.equal(faults.length, 1);
    assert.match(String(faults[0]), /turns/);
    await ended(it.ledger);

    const repair = new DatabaseSync(place.path);
    const texts = repair.prepare('SELECT body FROM inbox WHERE state = 0').all();
    assert.equal(texts.length, 2, 'nothing of the failed group is there');
    repair.close();
  });
});

suite('a ledger that cannot read what a conversation remembers', () => {
  test('gives no claim, says so once, and loses nothing', async () => {
    await using place = await Scratch.make();
    const faults: unknown[] = [];
    const it = await place.open({ onFault: (error) => faults.push(error) });
    let wakes = 0;
    it.ledger.onReady((box, channel) => {
      wakes++;
      if (box === 'in' && wakes < 1_000 && faults.length > 0)
        void it.ledger.claim('in', channel, 10);
    });
    await accept(it, said('ann', 'one'), said('bob', 'two'));
    const intruder = intrude(place);
    intruder.exec('ALTER TABLE turns RENAME TO elsewhere');
    assert.deepEqual(await it.ledger.claim('in', said('ann', '').channel, 10), []);
    const { inboxClaimed, inboxWaiting } = it.ledger.gauges();
    assert.deepEqual([inboxClaimed, inboxWaiting, faults.length], [0, 2, 1]);
    await new Promise(setImmediate);
    assert.ok(wakes < 10, `who claims when woken is not woken for ever: ${wakes}`);
    const acceptance = await it.ledger.accept([said('cid', 'three')]);
    assert.ok(acceptance.kind === 'refused' && acceptance.reason === 'storage_failed');
    intruder.exec('ALTER TABLE elsewhere RENAME TO turns');
    intruder.close();
    await ended(it.ledger);
  });
});

suite('what is kept for a time', () => {
  test('is deleted after it, except what is not settled', async () => {
    await using place = await Scratch.make();
    const it = await place.open();
    await exchange(it, 'ann', 'one', 'a');
    await accept(it, said('bob', 'waits'));
    const path = place.path;
    await deliver(it, await oneOut(it));
    await exchangeWith(it);
    await ended(it.ledger);

    const db = new DatabaseSync(path);
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

  for (const [retentionDays, left] of [
    [30, 1],
    [0, 2],
  ] as const) {
    test(`${retentionDays} days of keeping are looked after from the start on`, async () => {
      await using place = await Scratch.make();
      const it = await place.open();
      await exchange(it, 'ann', 'one', 'a');
      await exchange(it, 'ann', 'two', 'b');
      await ended(it.ledger);
      const db = new DatabaseSync(place.path);
      const settledAt = Date.now() - 31 * dayMs;
      db.exec(`UPDATE outbox SET state = 1, settled_at = ${settledAt}`);
      db.exec(`UPDATE inbox SET settled_at = ${settledAt}`);
      await place.open({ retentionDays });
      const count = (): unknown => db.prepare('SELECT count(*) AS n FROM inbox').get()!['n'];
      while (count() !== left) await new Promise(setImmediate);
      db.close();
    });
  }

  test('numbers go on where they were when everything has been deleted', async () => {
    await using place = await Scratch.make();
    const it = await place.open();
    for (const text of ['one', 'two', 'three']) await exchange(it, 'ann', text);
    await ended(it.ledger);
    const db = new DatabaseSync(place.path);
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
    await using place = await Scratch.make();
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

  test('with too little room on the disk nothing comes in', async () => {
    await using place = await Scratch.make();
    const it = await place.open({ limits: { freeBytesMin: Number.MAX_SAFE_INTEGER } });
    await until('the disk has been looked at', () => it.ledger.room().messages === 0);
    const refusal = await it.ledger.accept([said('ann', 'hi')]);
    assert.ok(refusal.kind === 'refused' && refusal.reason === 'full');
    await noneIn(it);
    await noneOut(it);
  });
});

const turn = { at: 1, text: 'safe', reply: null, sensitivity: 'public' } as const;

/** One message of cid, answered without a reply while bob's waits. */
async function exchangeWith(it: Bench): Promise<void> {
  await accept(it, said('cid', 'quiet'));
  const claims = await takeIn(it, 5);
  for (const claim of claims) {
    if (claim.message.conversation === 'cid') await answer(it, claim);
    else await it.ledger.release(claim);
  }
}
