/** The sweep on PostgreSQL: which rows it deletes, its steps, and its end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, count, died, idOf, put, type Columns } from '../../../../test/fake/ledger-rows.ts';
import { now, openParts, type LedgerDeps } from '../../../../test/fake/ledger-parts.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { figureRowsMax } from '../../../telemetry/figures/figures.ts';
import type { Reads } from '../deps.ts';
import { atTheStart, beginSweeping, sweepOnce } from './sweep.ts';

const dayMs = 86_400_000;
const old = now - 31 * dayMs;
const young = now - 29 * dayMs;

const parts = ({ reads }: { readonly reads: Reads }, days = 30, expired: string[] = []) => ({
  reads,
  retentionDays: days,
  now: () => now,
  expired: (id: string) => void expired.push(id),
});

async function sweepAll(it: LedgerDeps, days = 30): Promise<readonly string[]> {
  const expired: string[] = [];
  while ((await sweepOnce(parts(it, days, expired))) > 0);
  return expired.sort();
}

/** Settled rows, newest last. The last row always stays. */
const settled = (...at: readonly number[]): Columns[] =>
  at.map((when, place) => {
    return { id: idOf(place), n: place, seq: place, settled_at: when, message_id: idOf(900) };
  });
const without = (name: string, rows: readonly Columns[]): Columns[] =>
  rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => key !== name)));
const messages = (...at: readonly number[]): Columns[] =>
  without('seq', without('message_id', settled(...at)));
const replies = (...at: readonly number[]): Columns[] => without('n', settled(...at));

postgresTest('what was settled long enough ago goes, dead or not, and is told', async () => {
  await using it = await openParts();
  const [one, two, three, last] = messages(old, old, young, young);
  await put(it.client, 'message', { ...one, failure: died }, { ...two, failure: null });
  await put(it.client, 'message', three!, last!);
  const [first, ...others] = replies(old, old, young);
  await put(it.client, 'sent', { ...first, failure: died, id: `${idOf(0)}-01` });
  await put(it.client, 'sent', ...others);
  assert.deepEqual(await sweepAll(it), [idOf(0), `${idOf(0)}-01`]);
  assert.deepEqual(await all(it.client, 'message'), [idOf(2), idOf(3)]);
  assert.deepEqual(await all(it.client, 'sent'), [idOf(2)]);
});

postgresTest('what is not settled stays, and so do conversations', async () => {
  await using it = await openParts();
  for (const table of ['lane', 'inbox', 'outbox', 'turn', 'cut', 'note']) {
    await put(it.client, table, {});
  }
  await sweepAll(it);
  for (const table of ['lane', 'inbox', 'outbox', 'turn', 'cut', 'note']) {
    assert.equal(await count(it.client, table), 1, table);
  }
});

postgresTest('a message stays as long as a reply to it, and goes with its uses', async () => {
  await using it = await openParts();
  await put(it.client, 'message', ...messages(old, old, old, young));
  const [delivered, newest] = replies(young, young);
  await put(it.client, 'sent', { ...delivered, id: idOf(50), message_id: idOf(0) });
  await put(it.client, 'sent', { ...newest, id: idOf(60) });
  await put(it.client, 'outbox', { message_id: idOf(1) });
  for (const at of [0, 2]) {
    await put(it.client, 'tool_use', { key: `k${at}`, message_id: idOf(at) });
    await put(it.client, 'tool_call', { key: `k${at}`, message_id: idOf(at) });
    await put(it.client, 'attachment', { message_id: idOf(at) });
  }
  await put(it.client, 'inbox', { id: idOf(4) });
  await put(it.client, 'attachment', { message_id: idOf(4) });
  await sweepAll(it);
  assert.deepEqual(await all(it.client, 'message'), [idOf(0), idOf(1), idOf(3)]);
  assert.deepEqual(await all(it.client, 'tool_use', 'key'), ['k0']);
  assert.deepEqual(await all(it.client, 'tool_call', 'key'), ['k0']);
  assert.deepEqual(await all(it.client, 'attachment', 'message_id'), [idOf(0), idOf(4)]);
});

postgresTest('the queue of an API request goes with its message', async () => {
  await using it = await openParts();
  const [one, two, three, last] = messages(old, old, old, young);
  const channel = 'completions';
  const rows = [one!, two!, three!].map((row, n) => ({ ...row, channel, conversation: `c${n}` }));
  await put(it.client, 'message', ...rows, last!);
  const free = { channel, owner: null, session: null };
  await put(it.client, 'lane', { ...free, conversation: 'c0' }, { ...free, conversation: 'new' });
  await put(it.client, 'lane', { ...free, conversation: 'c1', owner: 7 });
  await put(it.client, 'lane', { ...free, conversation: 'c2', session: 1 });
  await sweepAll(it);
  assert.deepEqual(await all(it.client, 'lane', 'conversation'), ['c1', 'c2', 'new']);
});

postgresTest('attachments without a message go, however many others come before', async () => {
  await using it = await openParts();
  await put(it.client, 'inbox', { id: idOf(4) });
  await put(it.client, 'attachment', { message_id: idOf(4) });
  await it.client.query(
    'INSERT INTO svc.attachment SELECT (one).* FROM (' +
      "SELECT jsonb_populate_record(one, jsonb_build_object('place', n)) AS one " +
      'FROM svc.attachment AS one, generate_series(1, 600) AS n) AS many',
  );
  const strays = Array.from({ length: 250 }, (_, at) => ({ message_id: idOf(5 + at) }));
  await put(it.client, 'attachment', ...strays);
  const place = atTheStart();
  const steps: number[] = [];
  for (let step = 0; step < 4; step++) steps.push(await sweepOnce(parts(it), place));
  assert.deepEqual(steps, [0, 200, 50, 0]);
  assert.equal(await count(it.client, 'attachment'), 601);
  await put(it.client, 'attachment', { message_id: idOf(1) });
  await sweepOnce(parts(it), place);
  await sweepOnce(parts(it), place);
  assert.equal(await count(it.client, 'attachment'), 601, 'it begins again');
});

postgresTest('an approval goes once it was settled long enough ago', async () => {
  await using it = await openParts();
  const decided = { state: 'approved', decided_at: old };
  await put(it.client, 'approval', { id: idOf(0), ...decided, settled_at: old });
  await put(it.client, 'approval', { id: idOf(1), ...decided, settled_at: young });
  await put(it.client, 'approval', { id: idOf(2), ...decided }, { id: idOf(3) });
  await sweepAll(it, 0);
  assert.equal(await count(it.client, 'approval'), 4, 'a retention of 0 is for ever');
  await sweepAll(it);
  assert.deepEqual(await all(it.client, 'approval'), [idOf(1), idOf(2), idOf(3)]);
});

postgresTest('the newest row stays, so that no id is given again', async () => {
  await using it = await openParts();
  await put(it.client, 'message', ...messages(old, old));
  await put(it.client, 'sent', ...replies(old, old));
  await sweepAll(it);
  assert.deepEqual(await all(it.client, 'message'), [idOf(1)]);
  assert.deepEqual(await all(it.client, 'sent'), [idOf(1)]);
});

postgresTest('keys go when they have expired, and the audit after a year', async () => {
  await using it = await openParts();
  await put(it.client, 'dedupe', { key: 'then', expires_at: now - 1 });
  await put(it.client, 'dedupe', { key: 'soon', expires_at: now + 1 });
  await put(it.client, 'audit', { at: now - 366 * dayMs }, { at: now - 364 * dayMs });
  await put(it.client, 'message', ...messages(old, old, old));
  await put(it.client, 'sent', ...replies(old, old, old));
  assert.deepEqual(await sweepAll(it, 0), []);
  assert.deepEqual(await all(it.client, 'dedupe', 'key'), ['soon']);
  assert.deepEqual(await all(it.client, 'audit', 'at'), [now - 364 * dayMs]);
  assert.equal(await count(it.client, 'message'), 3, 'a retention of 0 is for ever');
  assert.equal(await count(it.client, 'sent'), 3);
});

postgresTest('a step is a small one, and the steps come to an end', async () => {
  await using it = await openParts();
  await put(it.client, 'message', ...messages(...Array.from({ length: 501 }, () => old)));
  const steps: number[] = [];
  do steps.push(await sweepOnce(parts(it)));
  while (steps.at(-1)! > 0);
  assert.deepEqual(steps, [200, 200, 100, 0]);
});

postgresTest('a key that a message holds just now is left to a later step', async () => {
  await using it = await openParts();
  await put(it.client, 'dedupe', { key: 'held', expires_at: 1 }, { key: 'free', expires_at: 2 });
  await it.client.query('BEGIN');
  await it.client.query("UPDATE svc.dedupe SET expires_at = 1 WHERE key = 'held'");
  const waits = async (): Promise<string> => {
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    const { rows } = await it.client.query(`${waiting} AND datname = current_database()`);
    return rows.length > 0 ? 'it waits' : swept.isDone ? 'it is done' : waits();
  };
  const swept = { isDone: false };
  const step = sweepOnce(parts(it)).finally(() => void (swept.isDone = true));
  assert.equal(await Promise.race([step, waits()]), 1);
  await it.client.query('COMMIT');
  assert.deepEqual(await all(it.client, 'dedupe', 'key'), ['held']);
  assert.equal(await sweepOnce(parts(it)), 1);
});

test('it begins by itself, and ends with the storage', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let asked = 0;
  let tell = (): void => {};
  const reads: Reads = {
    async ask() {
      asked++;
      tell();
      return [];
    },
    async [Symbol.asyncDispose]() {},
  };
  const next = (): Promise<void> => new Promise((resolve) => (tell = resolve));
  const sweeping = beginSweeping(parts({ reads }));
  const first = next();
  t.mock.timers.tick(60_000);
  await first;
  await new Promise(setImmediate);
  assert.equal(asked, 10);
  sweeping[Symbol.dispose]();
  t.mock.timers.tick(600_000);
  await new Promise(setImmediate);
  assert.equal(asked, 10);
});

postgresTest('figures go by their own times, and the oldest of very many', async () => {
  await using it = await openParts();
  const hourMs = 3_600_000;
  const minuteMs = 60_000;
  const figure = (length: number, at: number, run = 1): Columns => {
    return { length_ms: length, at, run, body: '{}' };
  };
  await put(it.client, 'figure', figure(minuteMs, now - dayMs - 1), figure(minuteMs, now - dayMs));
  await put(it.client, 'figure', figure(hourMs, now - 30 * dayMs - 1));
  await put(it.client, 'figure', figure(hourMs, now - 30 * dayMs));
  await sweepAll(it, 0);
  const left = await all(it.client, 'figure', 'at');
  assert.deepEqual(left.map(Number), [now - 30 * dayMs, now - dayMs]);
  const many = `generate_series(1, ${figureRowsMax + 30}) AS n`;
  await it.client.query(
    'INSERT INTO svc.figure (length_ms, at, run, body) ' +
      `SELECT ${minuteMs}, $1::bigint + n, n, '{}' FROM ${many}`,
    [now],
  );
  await sweepAll(it, 0);
  assert.equal(await count(it.client, 'figure'), figureRowsMax + 1);
});

postgresTest('spend of senders goes with the texts, and all of it after 400 days', async () => {
  await using it = await openParts();
  const agos = { d401: 401, d399: 399, d31: 31, d29: 29 };
  const rows = Object.entries(agos).flatMap(([brain, ago]): Columns[] => {
    const day = new Date(now - ago * dayMs).toISOString().slice(0, 10);
    return [
      { brain: `${brain} of all`, day, channel: '', sender: '' },
      { brain, day },
    ];
  });
  await put(it.client, 'spend', ...rows);
  await sweepAll(it, 0);
  assert.deepEqual(await all(it.client, 'spend', 'brain'), [
    'd29',
    'd29 of all',
    'd31',
    'd31 of all',
    'd399',
    'd399 of all',
  ]);
  await sweepAll(it, 30);
  const left = await all(it.client, 'spend', 'brain');
  assert.deepEqual(left, ['d29', 'd29 of all', 'd31 of all', 'd399 of all']);
});
