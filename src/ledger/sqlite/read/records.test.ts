/** What only the lists of SQLite have: old databases, many rows, swept rows. */
import { hourMs, minuteMs } from '../../../lib/durations.ts';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '../../../lib/clock.ts';
import { ids } from '../../../../test/contract/ledger/kit.ts';
import type { Page, PageRequest } from '../../../domain/page.ts';
import { anyMessage } from '../../../domain/records.ts';
import { figureRowsMax } from '../../../telemetry/figures/figures.ts';
import { applicationId, migrate, migrationFiles } from '../files/migrations.ts';
import { looksMax } from './read-page.ts';
import { openSqliteReader } from './reader.ts';
import { openSqliteLedger } from '../sqlite.ts';
import { sweep } from '../write/sweep.ts';

const dayMs = 86_400_000;
const fields = 'seq, id, channel, conversation, accepted_at, body, state';

class Scratch implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-records-'));
  readonly path = join(this.#folder, 'svc.db');
  readonly db = new DatabaseSync(this.path);

  /** @param version the schema's version; `migrate` applies the later ones */
  constructor(version = migrationFiles().length) {
    this.db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
    for (const name of migrationFiles().slice(0, version)) {
      this.db.exec(readFileSync(new URL(`../files/migrations/${name}`, import.meta.url), 'utf8'));
    }
    const marks = `PRAGMA user_version = ${version}; PRAGMA application_id = ${applicationId}`;
    this.db.exec(marks);
  }

  open() {
    const reader = openSqliteReader(this.path);
    assert.ok(!('kind' in reader), 'it can be read');
    return reader;
  }

  [Symbol.dispose](): void {
    this.db.close();
    rmSync(this.#folder, { recursive: true });
  }
}

test('a database of before tells how the turns ended whose traces it has', async () => {
  using place = new Scratch(3);
  const { db } = place;
  const steps = (winner: string | null) => [
    { kind: 'model', model: 'x/answered', result: 'answer' },
    { kind: 'policy', winner },
  ];
  const times = { acceptedAt: 1, claimedAt: 2, decidedAt: 3, attempt: 1 };
  const traces = [
    JSON.stringify({ ...times, brain: 'main', outcome: 'reply', steps: steps('x/winner') }),
    JSON.stringify({ ...times, brain: 'main', outcome: 'busy', steps: steps(null) }),
    JSON.stringify({ ...times, brain: 'main', outcome: 'command', steps: [] }),
    '{"brain":',
    '{"brain":"odd","outcome":"reply","steps":[null,7,"policy"]}',
    null,
  ];
  for (const [at, trace] of traces.entries()) {
    const id = String(at).padStart(22, '0');
    db.prepare(`INSERT INTO inbox (${fields}) VALUES (?, ?, 'webhook', 'c', ?, '{}', 1)`).run(
      at + 1,
      id,
      at,
    );
    if (trace !== null) db.prepare('INSERT INTO traces VALUES (?, ?)').run(id, trace);
    const turn = `'webhook', 'c${at % 2}', 1, ${at + 1}, ${at}, 'text', 'reply', 'ada'`;
    db.exec(`INSERT INTO turns VALUES (${turn})`);
  }
  migrate(db);
  await using reader = place.open();
  const { rows } = await reader.messages(anyMessage, { after: null, limit: 10 });
  assert.deepEqual(
    rows.toReversed().map(({ brain, outcome, model }) => [brain, outcome, model]),
    [
      ['main', 'reply', 'x/winner'],
      ['main', 'busy', null],
      ['main', 'command', null],
      [null, null, null],
      ['odd', 'reply', null],
      [null, null, null],
    ],
  );
  const counted = [{ channel: 'webhook', conversations: 2, turns: 6, lastAt: 5 }];
  assert.deepEqual(await reader.conversationCounts(), counted);
});

test('of rows that no index tells apart a page looks at so many, and none is lost', async () => {
  using place = new Scratch();
  const many = looksMax * 2 + 500;
  place.db.exec(
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${many}) ` +
      `INSERT INTO inbox (${fields}, brain, outcome) ` +
      "SELECT n, printf('%022d', n), 'webhook', 'c', n / 7, '{}', 1, " +
      "CASE WHEN n % 5000 = 3 THEN 'rare' ELSE 'main' END, " +
      "CASE WHEN n % 5000 IN (3, 4) THEN 'reply' ELSE 'command' END FROM n",
  );
  await using reader = place.open();
  // The brain's index leads to all rows, and each outcome is checked.
  const found = await everyPage(100, (page) => {
    return reader.messages({ ...anyMessage, brain: 'main', outcome: 'reply' }, page);
  });
  assert.deepEqual(found.ids, [20_004, 15_004, 10_004, 5_004, 4].map(idAt));
  assert.ok(found.pages >= 3, 'a page ends where enough was looked at');
  const rare = await reader.messages({ ...anyMessage, brain: 'rare' }, { after: null, limit: 9 });
  assert.deepEqual(
    rare.rows.map(({ id }) => id),
    [20_003, 15_003, 10_003, 5_003, 3].map(idAt),
  );
  assert.equal(rare.next, null, 'what is rare is found by its index');
  const all = await everyPage(500, (page) => reader.messages(anyMessage, page));
  assert.equal(new Set(all.ids).size, many);
  assert.deepEqual(all.ids, all.ids.toSorted().toReversed());
});

test('where more wait than are put in order, they are found among the rest', async () => {
  using place = new Scratch();
  place.db.exec(
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n <= ${looksMax}) ` +
      `INSERT INTO inbox (${fields}) ` +
      "SELECT n, printf('%022d', n), 'webhook', 'c', n, '{}', 0 FROM n",
  );
  await using reader = place.open();
  const waiting = await everyPage(500, (page) => {
    return reader.messages({ ...anyMessage, state: 'waiting' }, page);
  });
  assert.equal(waiting.ids.length, looksMax + 1);
  assert.deepEqual(waiting.ids, waiting.ids.toSorted().toReversed());
});

test('what operators did is kept for a year, whatever else is', () => {
  using place = new Scratch();
  const { db } = place;
  const now = 400 * dayMs;
  const add = db.prepare("INSERT INTO audit (at, action, target, status) VALUES (?, 'a', '{}', 1)");
  for (const days of [34, 36, 399]) add.run(days * dayMs);
  sweep(db, 0, now);
  const kept = db.prepare('SELECT at FROM audit ORDER BY seq').all();
  assert.deepEqual(
    kept.map(({ at }) => Number(at) / dayMs),
    [36, 399],
  );
});

test('figures are kept for a day by the minute and for thirty by the hour, and so many', () => {
  using place = new Scratch();
  const { db } = place;
  const now = 400 * dayMs;
  const add = db.prepare("INSERT INTO figures VALUES (?, ?, ?, '{}')");
  for (const [lengthMs, days] of [
    [minuteMs, 1],
    [hourMs, 30],
  ] as const) {
    for (const offMs of [-lengthMs, -1, 0, 1, 5 * dayMs]) {
      add.run(lengthMs, now - days * dayMs + offMs, 1);
    }
  }
  const offsets = (lengthMs: number, days: number) =>
    db
      .prepare('SELECT at FROM figures WHERE length_ms = ? ORDER BY at')
      .all(lengthMs)
      .map(({ at }) => Number(at) - (now - days * dayMs));
  sweep(db, 0, now);
  assert.deepEqual(offsets(minuteMs, 1), [0, 1, 5 * dayMs]);
  assert.deepEqual(offsets(hourMs, 30), [0, 1, 5 * dayMs]);
  sweep(db, 0, now - 100 * dayMs);
  assert.equal(offsets(minuteMs, 1).length, 3, 'a clock that was set back deletes nothing');
  // When a service is started very often, the oldest rows go early.
  db.exec(
    'WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n ' +
      `WHERE n < ${figureRowsMax + 30}) ` +
      `INSERT INTO figures SELECT ${minuteMs}, ${now} + n, n, '{}' FROM n`,
  );
  assert.equal(sweep(db, 0, now).rows, 33);
  const remaining = db.prepare('SELECT count(*) AS n, min(run) AS first FROM figures WHERE at > ?');
  assert.deepEqual({ ...remaining.get(now) }, { n: figureRowsMax, first: 1 });
});

test('a ledger that closes keeps nothing more, and says so', async () => {
  using place = new Scratch();
  const options = { path: place.path, ...systemClock, ids, retentionDays: 30 };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  const row = { at: 1, action: 'replay', target: {}, status: 200, reason: null };
  const kept = ledger.recordWrite(row);
  const closing = ledger[Symbol.asyncDispose]();
  assert.equal(await kept, true, 'what was asked for before is on the disk');
  assert.equal(await ledger.recordWrite(row), false);
  await closing;
  assert.equal(await ledger.recordWrite(row), false);
});

const idAt = (number: number): string => String(number).padStart(22, '0');

async function everyPage(
  limit: number,
  read: (page: PageRequest) => Promise<Page<{ readonly id: string }>>,
): Promise<{ readonly ids: readonly string[]; readonly pages: number }> {
  const seen: string[] = [];
  let after: string | null = null;
  for (let pages = 1; ; pages++) {
    assert.ok(pages < 1_000, 'pages come to an end');
    const found: Page<{ readonly id: string }> = await read({ after, limit });
    seen.push(...found.rows.map(({ id }) => id));
    if (found.next === null) return { ids: seen, pages };
    after = found.next;
  }
}
