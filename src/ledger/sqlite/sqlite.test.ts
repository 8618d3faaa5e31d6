/** What only the SQLite backend has: files, owners, crashes, damage. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import {
  accept,
  answer,
  deliver,
  hook,
  oneIn,
  oneOut,
  said,
  takeIn,
  takeOut,
  until,
} from '../../../test/contract/ledger/kit.ts';
import { ended, LedgerFolder } from '../../../test/fake/ledger-folder.ts';
import { failure } from '../../domain/failure.ts';
import type { MessageOwner } from '../../domain/story.ts';
import { NotOverwritten, type OutClaim } from '../ledger.ts';
import { patienceMs } from '../../../test/support/waiting.ts';

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
/**
 * A second connection that writes beside a ledger, whose thread may be sweeping at the same time.
 */
const intrude = (place: LedgerFolder): DatabaseSync =>
  new DatabaseSync(place.path, { timeout: patienceMs });

suite('the files of a ledger', { concurrency: 4 }, () => {
  test('are for this user alone, and so is the folder that was made for them', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    await accept(it, said('ann', 'hi'));
    assert.equal(await modeOf(join(place.folder, 'data')), 0o700);
    for (const end of ['', '.lock', '-wal', '-shm']) {
      assert.equal(await modeOf(`${place.path}${end}`), 0o600, `svc.db${end}`);
    }
  });

  test('have a log that stays short, however long the texts that are written again', async () => {
    await using place = await LedgerFolder.make();
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

  test('tell of a clock that was ahead, and keep the sooner times', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    await accept(it, said('ann', 'hi'));
    await answer(it, await oneIn(it), 'to ann');
    const how = { park: true, possibleDuplicate: false };
    const far = Date.now() + 40 * 86_400_000;
    await it.ledger.defer(await oneOut(it), far, failure('server_error'), how);
    await it.ledger[Symbol.asyncDispose]();
    const reports: { readonly replies: number; readonly aheadMs: number }[] = [];
    const news = { clockWasAhead: (one: (typeof reports)[number]) => void reports.push(one) };
    const again = await place.open({ news });
    await again.ledger[Symbol.asyncDispose]();
    assert.deepEqual([reports.length, reports[0]?.replies], [1, 1]);
    assert.ok(reports[0]!.aheadMs > 39 * 86_400_000);
    using db = new DatabaseSync(place.path);
    assert.ok(
      Number(db.prepare('SELECT due_at AS at FROM outbox').get()!['at']) < Date.now() + 1e4,
    );
  });

  test('have one owner at a time', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    await place.refuses('storage_locked');
    await ended(it.ledger);
    await accept(await place.open(), said('ann', 'hi'));
  });

  test('that another program holds for a moment are waited for', async () => {
    await using place = await LedgerFolder.make();
    await ended((await place.open()).ledger);
    // Holds the database as the first reader after a crash does, until it has read the log.
    const other = new DatabaseSync(place.path);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE');
    // The start waits until the database is released.
    const heldMs = 100;
    setTimeout(() => other.close(), heldMs);
    await using _ = await place.open({ limits: { busyMs: patienceMs } });
  });

  test('keep deleted bytes while another program reads on, and a deletion says so', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open({ limits: { readersMs: 0 } });
    const words = 'words that are to go';
    await accept(it, said('ann', words));
    const other = new DatabaseSync(place.path, { readOnly: true, timeout: patienceMs });
    other.exec('BEGIN');
    other.prepare('SELECT count(*) FROM inbox').get();
    const ann: MessageOwner = { kind: 'sender', channel: hook, sender: 'sender of ann' };
    await assert.rejects(it.ledger.forget(ann), NotOverwritten);
    assert.deepEqual(await takeIn(it, 1), [], 'it is deleted');
    assert.ok((await readFile(`${place.path}-wal`)).includes(words));
    other.close();
    assert.equal(await it.ledger.forget(ann), 0, 'once more: it only overwrites');
    for (const end of ['', '-wal']) {
      assert.ok(!(await readFile(`${place.path}${end}`)).includes(words), `svc.db${end}`);
    }
  });

  test('are not written once more after a crash while another program writes', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    const other = new DatabaseSync(place.path, { timeout: patienceMs });
    other.exec('BEGIN');
    other.prepare('SELECT count(*) FROM inbox').get();
    await accept(it, said('ann', 'hi'));
    // The log stays, since the other program has it open.
    await ended(it.ledger);
    other.exec('COMMIT; BEGIN IMMEDIATE');
    const writtenAt = async () => (await stat(`${place.path}-wal`, { bigint: true })).mtimeNs;
    const before = await writtenAt();
    const problem = await place.try({ limits: { lockedMs: 50, busyMs: 50 } });
    assert.ok('kind' in problem && problem.code === 'storage_locked');
    assert.equal(await writtenAt(), before);
    other.exec('ROLLBACK');
    await using again = await place.open();
    assert.notEqual(await writtenAt(), before, 'now it is');
    assert.equal((await oneIn(again)).message.text, 'hi');
    other.close();
  });

  test('of a newer svc are refused and left as they are', async () => {
    await using place = await LedgerFolder.make();
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
    await using place = await LedgerFolder.make();
    await ended((await place.open()).ledger);
    const path = join(place.folder, 'theirs.db');
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)');
    db.close();
    const problem = await place.try({ path });
    assert.ok('kind' in problem && problem.code === 'storage_foreign');
  });

  test('that are no database are refused and left as they are', async () => {
    await using place = await LedgerFolder.make();
    await ended((await place.open()).ledger);
    const text = 'this is a letter, and no database. '.repeat(200);
    for (const end of ['-wal', '-shm']) await rm(`${place.path}${end}`, { force: true });
    await writeFile(place.path, text);
    await place.refuses('storage_foreign');
    assert.equal(await readFile(place.path, 'utf8'), text);
  });

  test('that are damaged are refused', async () => {
    await using place = await LedgerFolder.make();
    const it = await place.open();
    for (let i = 0; i < 50; i++) await accept(it, said(`c${i}`, 'x'.repeat(500)));
    await ended(it.ledger);
    const bytes = await readFile(place.path);
    bytes.fill(0x5a, 4_096);
    await writeFile(place.path, bytes);
    await place.refuses('storage_damaged');
  });

  test('cannot be where no folder can be', async () => {
    await using place = await LedgerFolder.make();
    await writeFile(join(place.folder, 'data'), 'a file, no folder');
    const problem = await place.try();
    assert.ok('kind' in problem);
    assert.ok(problem.message.includes(place.path), problem.message);
  });
});

suite('a ledger whose process was killed', () => {
  test('has everything that was accepted, in order, and marks what may come twice', async () => {
    await using place = await LedgerFolder.make();
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
    await using place = await LedgerFolder.make();
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
        unsent: [],
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
    await using place = await LedgerFolder.make();
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

const turn = { at: 1, text: 'safe', reply: null, sensitivity: 'public' } as const;
