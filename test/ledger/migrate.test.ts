/** All data moves from a file to a server and back; a forbidden migration moves nothing. */
import { hourMs, minuteMs } from '../../src/lib/durations.ts';
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { ModelName } from '../../src/domain/ids.ts';
import { anyMessage } from '../../src/domain/records.ts';
import { failure } from '../../src/domain/failure.ts';
import type { Page, PageRequest } from '../../src/domain/page.ts';
import { type FiguresRequest } from '../../src/telemetry/figures/figures.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openMigration, type Place } from '../../src/ledger/migrate/open.ts';
import type { Moved } from '../../src/ledger/migrate/migrate.ts';
import { createPostgresReader } from '../../src/ledger/postgres/read/reader.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { openPostgresStore } from '../../src/ledger/postgres/postgres.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import { openSqliteReader } from '../../src/ledger/sqlite/read/reader.ts';
import type { StoreProblem, Ledger, LedgerReader } from '../../src/ledger/ledger.ts';
import { asks, decide, follows } from '../contract/ledger/approvals.ts';
import {
  accept,
  answer,
  deliver,
  effects,
  exchange,
  hook,
  newIds,
  oneIn,
  oneOut,
  other,
  said,
  takeIn,
  textsIn,
  type HasLedger,
} from '../contract/ledger/kit.ts';
import { charge, tokens, used } from '../contract/ledger/spend.ts';
import { busyBucket, figureRow } from '../fake/figure-rows.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { scratch } from '../support/program.ts';

const everything = { channel: null, state: null, from: null, to: null };
const quiet = { copied: () => {}, comparing: () => {} };
const skip = { skip: noPostgres };
const never = new AbortController().signal;

async function openAt(path: string): Promise<Ledger> {
  const options = { path, ...systemClock, ids: newIds(), retentionDays: 30 };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  return ledger;
}

/** Writes some data of every kind that a ledger stores. */
async function fill(path: string): Promise<void> {
  const ledger = await openAt(path);
  const it = { ledger, reopen: () => Promise.reject(new Error('not here')) };
  await using _it = { [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose]() };
  const bench = Object.assign(it, { [Symbol.asyncDispose]: async () => {} });
  await exchange(bench, 'ada', 'hello \u{1F600} \\u0000 \0 \uE000 "quoted"', 'first', 'second');
  await deliver(bench, await oneOut(bench));
  const late = await oneOut(bench);
  await fillApprovals(bench);
  const why = failure('server_error');
  await ledger.defer(late, Date.now() - 1, why, { park: false, possibleDuplicate: true });
  await accept(bench, said('ada', 'a new session'));
  const cut = await oneIn(bench);
  const session = { at: Date.now(), reason: 'idle' } as const;
  await ledger.complete(cut, {
    ...effects(cut, ['yes'], { session }),
    notes: [note('remember'), { ...note('of all'), scope: { kind: 'brain', brain: 'main' } }],
    toolUses: [use(`${cut.message.id}:1:1`)],
    unsent: [{ model: 'local_runtime/b' as ModelName, text: 'otherwise \0 "quoted"' }],
  });
  const keyed = { dedupeKey: 'once', sensitivity: 'private' } as const;
  await accept(bench, said('bob', 'dies', keyed));
  await ledger.deadLetter(await oneIn(bench), failure('gone'));
  await accept(bench, said('eve', 'replayed'), said('eve', 'before it'));
  const dead = await oneIn(bench);
  const call = { key: `${dead.message.id}:1:1`, at: Date.now(), tool: 'echo', mode: 'allow' };
  const begun = { ...call, rule: 'grant', hash: 'abc', arguments: '{}', sensitivity: 'public' };
  assert.equal((await ledger.calls.logCall(dead, begun as never)).kind, 'run');
  ledger.calls.logCallEnd(dead, call.key, { outcome: 'ran', ms: 2, text: 'done' } as never);
  const read = { kind: 'text', name: 'a \0 \uE000.txt', text: 'buy \0 \uE000 milk' } as const;
  await ledger.attachments.keep(dead, [read]);
  await ledger.deadLetter(dead, failure('gone'));
  await answer(bench, await oneIn(bench));
  assert.equal(await ledger.replay(dead.message.id), 'done');
  const bot = { channel: other, address: { channel: other, target: 'x' } };
  await accept(bench, said('cy', 'of a bot', bot), said('cy', 'behind it', bot));
  await ledger.accept([], { channel: other, name: 'offset', value: '77' });
  const target = { id: dead.message.id };
  const row = { at: Date.now(), action: 'replay', target, status: 200, reason: 'why not' };
  await ledger.recordWrite(row);
  const { spend } = ledger;
  assert.equal((await spend.reserve(charge(), tokens(5, 6), [])).kind, 'reserved');
  assert.equal((await spend.reserve(charge(), tokens(7), [])).kind, 'reserved');
  spend.settle(charge(), tokens(7), used(3, 1, true));
  const free = { model: 'local_runtime/b' as ModelName, price: null, costs: false };
  spend.settle(charge({ ...free, sender: { channel: hook, id: 'a\0b' } }), null, used(1_000));
  spend.settle(charge({ ...free, sender: null }), null, used(9));
  await ledger.figures.keep([
    figureRow(2 ** 53 - 1, busyBucket(day, { models: 3, calls: 9 })),
    figureRow(7, busyBucket(day, { models: 1, calls: 2 }), hourMs),
  ]);
}

/** Adds an approval that waits, one that is decided but not settled, and one that is settled. */
async function fillApprovals(it: HasLedger): Promise<void> {
  const asked = await asks(it, 'fay', [{}, { sensitivity: 'private', tool: 'calc' }, {}]);
  await decide(it, asked[1]!, 'refused', 'messenger_a:42 \0 \uE000');
  await decide(it, asked[2]!);
  await follows(it, 'fay', asked[2]!, 'done');
  for (let sent = 0; sent < 2; sent++) await deliver(it, await oneOut(it));
}

/** A whole day. */
const day = 20_000 * 24 * hourMs;
const figures: FiguresRequest = {
  lengthMs: minuteMs,
  stepMs: minuteMs,
  from: day,
  until: day + hourMs,
  own: { run: 2 ** 53 - 1, first: day, last: day + hourMs },
};

function note(text: string) {
  const scope = { kind: 'conversation' } as const;
  const kept = { at: Date.now(), text, sensitivity: 'private' } as const;
  return { kind: 'add', scope, notesMax: 10, note: kept } as const;
}

function use(key: string) {
  const where = { key, at: Date.now(), ms: 1.5, tool: 'echo', mode: 'allow', rule: 'grant' };
  return { ...where, outcome: 'ran', arguments: '{"a":"\u00e9"}', told: 'found \0' } as never;
}

async function move(from: Place, to: Place): Promise<Moved> {
  const migration = await openMigration(from, to);
  assert.ok(!('code' in migration), 'code' in migration ? migration.message : '');
  await using open = migration;
  const moved = await open.run(quiet, never);
  assert.ok(moved.kind === 'moved', JSON.stringify(moved));
  return moved;
}

async function refusal(from: Place, to: Place): Promise<string> {
  const migration = await openMigration(from, to);
  if ('code' in migration) return migration.code;
  await migration[Symbol.asyncDispose]();
  return 'opened';
}

/** Returns everything that people can read of the database. */
async function toldBy(reader: LedgerReader | StoreProblem): Promise<unknown> {
  assert.ok(!('kind' in reader));
  await using open = reader;
  const all = async <T>(read: (page: PageRequest) => Promise<Page<T>>): Promise<readonly T[]> =>
    (await read({ after: null, limit: 500 })).rows;
  const messages = await all((page) => open.messages(anyMessage, page));
  const conversations = await all((page) => open.conversations(page));
  const stories: unknown[] = [];
  for (const { id } of messages) stories.push(await open.story(id), await open.storyText(id));
  const turns: unknown[] = [];
  for (const { channel, conversation } of conversations) {
    const key = { channel, conversation };
    turns.push(await open.conversation(key));
    turns.push(await all((page) => open.turns({ kind: 'conversation', ...key }, page)));
    turns.push(await open.notes({ kind: 'conversation', ...key }));
  }
  const letters = await all((page) => open.deadLetters(page));
  const dead: unknown[] = [];
  for (const { id } of letters) dead.push(await open.deadLetter(id));
  const bySender = { kind: 'sender', channel: hook, sender: 'sender of ada' } as const;
  return {
    messages,
    conversations,
    stories,
    turns,
    letters,
    dead,
    deliveries: await all((page) => open.deliveries(everything, page)),
    ofAda: await all((page) => open.turns(bySender, page)),
    notes: await open.notes({ kind: 'brain', brain: 'main' }),
    uses: await all((page) => open.toolUses(page)),
    audit: await all((page) => open.audit(page)),
    counts: await open.conversationCounts(),
    figures: await open.figures(figures),
    approvals: await approvalsOf(open),
    hours: await open.figures({ ...figures, lengthMs: hourMs }),
    spent: [await open.spent('model', ''), await open.spent('sender', '')],
  };
}

async function approvalsOf(reader: LedgerReader): Promise<readonly unknown[]> {
  const { rows } = await reader.approvals(null, { after: null, limit: 500 });
  return Promise.all(rows.map(({ id }) => reader.approval(id)));
}

/** Waiting messages go on in their order, and known keys are still known. */
async function assertGoesOn(ledger: Ledger): Promise<void> {
  await using _ledger = ledger;
  const bench = { ledger, [Symbol.asyncDispose]: async () => {} };
  const it = Object.assign(bench, { reopen: () => Promise.reject(new Error('not here')) });
  const receipts = await accept(it, said('bob', 'again', { dedupeKey: 'once' }));
  assert.equal(receipts[0]?.duplicate, true);
  const waiting = await takeIn(it, 5);
  assert.deepEqual(textsIn(waiting), ['replayed']);
  const kept = await ledger.attachments.of(waiting[0]!);
  assert.equal(kept?.[0]?.kind === 'text' && kept[0].text, 'buy \0 \uE000 milk');
  assert.deepEqual(textsIn(await takeIn(it, 5, other)), ['of a bot']);
  assert.equal(await ledger.cursor(other, 'offset'), '77');
  assert.equal((await oneOut(it)).attempt, 2);
  const [waits] = await ledger.approvals.waiting();
  assert.equal(await decide(it, waits!), 'decided');
  const owed = (await ledger.approvals.owed(0)).map(({ state }) => state);
  assert.deepEqual(owed, ['approved', 'refused']);
}

test('from a file to a server and back, all that was kept is told the same', skip, async () => {
  await using folder = await scratch();
  const [path, back] = [join(folder.path, 'svc.db'), join(folder.path, 'back.db')];
  const url = await newDatabase();
  await fill(path);
  const there = await move({ kind: 'file', path }, { kind: 'server', url });
  for (const { name, rows } of there.tables) {
    assert.ok(rows > 0, `${name} has rows to move`);
  }
  const reader = createPostgresReader(() => connect(url));
  assert.deepEqual(await toldBy(reader), await toldBy(openSqliteReader(path)));
  const returned = await move({ kind: 'server', url }, { kind: 'file', path: back });
  assert.deepEqual(returned, there);
  const told = await toldBy(openSqliteReader(path));
  assert.deepEqual(await toldBy(openSqliteReader(back)), told);
  assert.deepEqual(
    readdirSync(folder.path).filter((name) => name.includes('part')),
    [],
  );

  await assertGoesOn(await openAt(back));
});

test('a conversation goes on behind what was moved', skip, async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'svc.db');
  const url = await newDatabase();
  await fill(path);
  await move({ kind: 'file', path }, { kind: 'server', url });
  const client = await connect(url);
  const numberOf = async (sql: string): Promise<number> =>
    Number((await client.query(sql)).rows[0]?.['n']);
  const queues = ['inbox', 'message', 'turn'].map(
    (table) => `SELECT channel, conversation, n FROM svc.${table}`,
  );
  const behind =
    `SELECT count(*) AS n FROM svc.lane JOIN (${queues.join(' UNION ')}) AS one ` +
    'USING (channel, conversation) WHERE lane.tail < one.n';
  assert.equal(await numberOf(behind), 0);
  const next = "SELECT nextval(pg_get_serial_sequence('svc.outbox', 'seq')) AS n";
  const newest =
    'SELECT max(seq) AS n FROM ' +
    '(SELECT seq FROM svc.outbox UNION SELECT seq FROM svc.sent) AS every';
  assert.ok((await numberOf(next)) > (await numberOf(newest)));
  await client.end();
  const options = { url, ...systemClock, ids: newIds(), retentionDays: 30, version: '0' };
  const store = await openPostgresStore(options);
  assert.ok(!('kind' in store), 'it can be opened');
  await assertGoesOn(store.ledger);
});

test('what was kept before there were labels goes with the label that it has', skip, async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'svc.db');
  await fill(path);
  {
    using db = new DatabaseSync(path);
    db.exec('UPDATE inbox SET private = NULL; UPDATE turns SET private = NULL');
    db.exec(`INSERT INTO public_before VALUES ('${other}'); UPDATE owner SET stamped = 1`);
  }
  const url = await newDatabase();
  await move({ kind: 'file', path }, { kind: 'server', url });
  const client = await connect(url);
  const labels = `SELECT DISTINCT channel, private FROM svc.inbox ORDER BY channel`;
  const { rows } = await client.query(labels);
  const wanted = [
    { channel: other, private: false },
    { channel: hook, private: true },
  ];
  assert.deepEqual(rows, wanted);
  await client.end();
});

test(
  'nothing is moved from what is missing, in use or unclean, nor into a used one',
  skip,
  async () => {
    await using folder = await scratch();
    const [path, target] = [join(folder.path, 'svc.db'), join(folder.path, 'other.db')];
    const [from, to]: Place[] = [
      { kind: 'file', path },
      { kind: 'file', path: target },
    ];
    const url = await newDatabase();
    const server: Place = { kind: 'server', url };
    assert.equal(await refusal(from!, to!), 'storage_missing');
    assert.equal(await refusal(server, to!), 'storage_missing');
    const ledger = await openAt(path);
    assert.equal(await refusal(from!, to!), 'storage_locked');
    await ledger[Symbol.asyncDispose]();
    assert.equal(await refusal(from!, from!), 'migration_target');
    assert.equal(await refusal(from!, to!), 'opened');
    assert.ok(!existsSync(target), 'what was only opened leaves nothing');
    await move(from!, server);
    assert.equal(await refusal(from!, server), 'opened', 'it holds nothing yet');
    const client = await connect(url);
    await client.query("INSERT INTO svc.cursor VALUES ('a', 'b', 'c')");
    assert.equal(await refusal(from!, server), 'migration_target');
    await client.query("INSERT INTO svc.instance (version, process) VALUES ('0', '{}')");
    assert.equal(await refusal(server, to!), 'storage_locked');
    await client.query(
      "UPDATE svc.instance SET dead = true, beat_at = beat_at - interval '1 hour'",
    );
    assert.equal(await refusal(server, to!), 'migration_unclean');
    await client.end();
    using db = new DatabaseSync(path);
    db.exec('UPDATE owner SET clean = 0');
    assert.equal(await refusal(from!, to!), 'migration_unclean');
  },
);

test('a copy that differs, or that was stopped, is not kept', skip, async () => {
  await using folder = await scratch();
  const [path, target] = [join(folder.path, 'svc.db'), join(folder.path, 'other.db')];
  await fill(path);
  const url = await newDatabase();
  for (const to of [{ kind: 'file', path: target } as const, { kind: 'server', url } as const]) {
    const migration = await openMigration({ kind: 'file', path }, to);
    assert.ok(!('code' in migration));
    const stopped = await migration.run(quiet, AbortSignal.abort());
    assert.equal(stopped.kind === 'problem' && stopped.code, 'migration_stopped');
    await migration[Symbol.asyncDispose]();
    assert.equal(await refusal({ kind: 'file', path }, to), 'opened');
  }
});
