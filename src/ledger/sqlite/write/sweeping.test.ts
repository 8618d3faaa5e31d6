/** When the steps of the sweep run, and which work goes first. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { putNewDatabase } from '../../../../test/fake/new-database.ts';
import { writeHere } from '../../../../test/fake/writer-here.ts';
import { later, type SteadyTime } from '../../../lib/clock.ts';
import type { FromWriter } from './statements.ts';
import { rowsAtOnce, sweep } from './sweep.ts';
import { beginSweeping } from './writer.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';

test('a step is followed by a pause four times as long, and by a minute when all is done', () => {
  let at = 0 as SteadyTime;
  const tooks = [30, 2, 10];
  const waits: { readonly ms: number; readonly act: () => void }[] = [];
  beginSweeping({
    step: () => {
      at = later(at, tooks.shift()!);
      return tooks.length > 0;
    },
    everyMs: 60_000,
    steady: () => at,
    after: (ms, act) => {
      waits.push({ ms, act });
      return () => {};
    },
  });
  for (let step = 0; step < 3; step++) {
    assert.equal(waits.length, step + 1, 'nothing happens in a pause');
    waits[step]!.act();
  }
  assert.deepEqual(
    waits.map(({ ms }) => ms),
    [0, 120, 20, 60_000],
  );
});

test('once it has ended no step is made', () => {
  let cancelled = 0;
  const end = beginSweeping({ step: () => true, everyMs: 1, after: () => () => void cancelled++ });
  end();
  assert.equal(cancelled, 1);
});

test('groups come between the steps, until everything old has gone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sweeping-'));
  const path = join(folder, 'svc.db');
  await putNewDatabase(path);
  const old = rowsAtOnce * 12;
  const db = new DatabaseSync(path, { timeout: patienceMs });
  db.exec(
    'UPDATE owner SET stamped = 1; CREATE TABLE seen (rows INTEGER);' +
      'CREATE TRIGGER look AFTER INSERT ON cursors BEGIN ' +
      'INSERT INTO seen SELECT count(*) FROM inbox; END;' +
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${old}) ` +
      'INSERT INTO inbox (seq, id, channel, conversation, accepted_at, body, state, settled_at) ' +
      "SELECT i, 'm' || i, 'webhook', 'c', 1, '{}', 1, 1 FROM n",
  );
  const data = { path, retentionDays: 30, pagesMax: null, busyMs: 2_000, lockedMs: 2_000 };
  const writer = await writeHere(data);
  assert.ok('postMessage' in writer);
  let number = 0;
  const ask = (): void => {
    number++;
    const writes = [['cursor', 'webhook', `name ${number}`, 'value']];
    writer.postMessage(JSON.stringify({ number, writes }));
  };
  const rowsLeft = (): number => Number(db.prepare('SELECT count(*) AS n FROM inbox').get()?.['n']);
  const done = Promise.withResolvers<void>();
  writer.on('message', ({ kind }: FromWriter) => {
    if (kind !== 'done') return;
    if (rowsLeft() > 1) setImmediate(ask);
    else done.resolve();
  });
  ask();
  await done.promise;
  const seen = db.prepare('SELECT rows FROM seen').all();
  const rows = seen.map((one) => Number(one['rows']));
  const between = rows.filter((row) => row > 1 && row < old);
  assert.ok(between.length > 0, `groups found ${rows.join(', ')} rows`);
  await writer.terminate();
  db.close();
  await rm(folder, { recursive: true });
});

test('after a step, and after one that failed, every commit waits for its sync again', () => {
  const db = new DatabaseSync(':memory:');
  const synchronous = (): unknown => db.prepare('PRAGMA synchronous').get()?.['synchronous'];
  db.exec('PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE owner (stamped); INSERT INTO owner VALUES (1)');
  db.exec('CREATE TABLE inbox (brain, private)');
  assert.throws(() => sweep(db, 30, Date.now()), /no such table/);
  assert.deepEqual([synchronous(), db.isTransaction], [2, false]);
  db.close();
});
