/** Reads that differ on PostgreSQL: odd texts, many rows, and failures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from 'pg';
import { migratedDatabase } from '../../../../test/fake/postgres.ts';
import { insertRows, type Row } from '../../../../test/fake/insert-rows.ts';
import { timeText, type ChannelKey, type ConversationId } from '../../../domain/ids.ts';
import type { Page, PageRequest } from '../../../domain/page.ts';
import { anyMessage } from '../../../domain/records.ts';
import type { LedgerReader } from '../../ledger.ts';
import { connect } from '../server/connect.ts';
import { toText } from '../server/text.ts';
import { looksMax } from './lists.ts';
import { createPostgresReader } from './reader.ts';

const hook = 'webhook' as ChannelKey;
const all: PageRequest = { after: null, limit: 500 };
const idAt = (ms: number, digits = ''): string => timeText(ms) + digits.padStart(12, '0');

class Scratch implements AsyncDisposable {
  readonly client: Client;
  readonly reader: LedgerReader;

  private constructor(url: string, client: Client) {
    this.client = client;
    this.reader = createPostgresReader(() => connect(url));
  }

  static async open(): Promise<Scratch> {
    const url = await migratedDatabase();
    const client = await connect(url);
    return new Scratch(url, client);
  }

  add(table: string, ...rows: readonly Row[]): Promise<void> {
    return insertRows(this.client, table, rows);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reader[Symbol.asyncDispose]();
    await this.client.end();
  }
}

function waiting(at: number, more: Row = {}): Row {
  const body = JSON.stringify({ sender: { id: 'ada', name: null }, text: 'hi', media: null });
  const place = { channel: hook, conversation: 'c', n: at, accepted_at: at, sender: 'ada' };
  const state = { private: false, replayed: false, attempts: 0 };
  return { id: idAt(at), ...place, ...state, body, ...more };
}

function settled(at: number, more: Row = {}): Row {
  const end = { settled_at: at, brain: 'main', outcome: 'reply', failure: null, trace: null };
  return { ...waiting(at), ...end, ...more };
}

function sent(at: number, more: Row = {}): Row {
  const place = { channel: hook, conversation: 'c', seq: at, created_at: at, message_id: idAt(at) };
  const state = { attempts: 1, replayed: 0, possible_duplicate: false, late: false };
  const end = { settled_at: at, tries: null, failure: null, replayed_at: null };
  return { id: idAt(at, '1'), ...place, ...state, ...end, body: '{}', ...more };
}

function turn(n: number, more: Row = {}): Row {
  const place = { channel: hook, conversation: 'c', session: 1, n, message_id: idAt(n), at: n };
  return { ...place, sender: 'ada', private: false, text: `text ${n}`, reply: 'yes', ...more };
}

async function everyPage<T>(
  limit: number,
  read: (page: PageRequest) => Promise<Page<T>>,
): Promise<{ readonly rows: readonly T[]; readonly pages: number }> {
  const rows: T[] = [];
  let after: string | null = null;
  for (let pages = 1; ; pages++) {
    assert.ok(pages < 1_000, 'pages come to an end');
    const found: Page<T> = await read({ after, limit });
    assert.ok(found.rows.length <= limit);
    rows.push(...found.rows);
    if (found.next === null) return { rows, pages };
    after = found.next;
  }
}

test('ids, senders and texts come back as they were, whatever characters they have', async () => {
  await using it = await Scratch.open();
  const odd = ['a\0b', '\uE000', '\uE0000000', '\uD83D', '\uDE00x', '🦜', ' ', "'\\", 'é'];
  for (const [n, name] of odd.entries()) {
    const where = { channel: hook, conversation: toText(name) };
    const said = { text: toText(name), reply: toText(name), sender: toText(name) };
    await it.add('lane', { ...where, tail: 1 });
    await it.add('turn', turn(n, { ...where, ...said }));
    const body = JSON.stringify({ sender: { id: name, name }, text: name, media: null });
    await it.add('inbox', waiting(n, { ...where, sender: toText(name), body }));
    const note = { ...where, message_id: '', at: 1, private: false, text: toText(name) };
    await it.add('note', { ...note, brain: null }, { ...note, brain: toText(name) });
  }
  const { rows } = await everyPage(2, (page) => it.reader.conversations(page));
  assert.deepEqual(new Set(rows.map(({ conversation }) => conversation)), new Set(odd));
  for (const [n, name] of odd.entries()) {
    const conversation = name as ConversationId;
    assert.equal((await it.reader.conversation({ channel: hook, conversation }))?.turns, 1);
    const ofSender = { kind: 'sender', channel: hook, sender: name } as const;
    for (const whose of [
      { kind: 'conversation', channel: hook, conversation } as const,
      ofSender,
    ]) {
      const [one, ...more] = (await it.reader.turns(whose, all)).rows;
      assert.deepEqual([one?.conversation, one?.sender], [name, name]);
      assert.deepEqual([one?.text, one?.reply, more], [name, name, []]);
    }
    const text = await it.reader.storyText(idAt(n));
    assert.deepEqual([text?.conversation, text?.sender.id, text?.text], [name, name, name]);
    const scopes = [
      { kind: 'brain', brain: name },
      { kind: 'conversation', channel: hook, conversation },
    ] as const;
    for (const scope of scopes) {
      const [note] = await it.reader.notes(scope);
      assert.deepEqual([note?.conversation, note?.text], [name, name]);
    }
  }
  const nobody = { ...anyMessage, brain: '\0', channel: '\uD800' };
  assert.deepEqual((await it.reader.messages(nobody, all)).rows, []);
});

test('what was put back is as new as that, between what came before and after it', async () => {
  await using it = await Scratch.open();
  await it.add('message', settled(10), settled(30), settled(50));
  await it.add('message', settled(20, { accepted_at: 40, replayed: true }));
  await it.add('inbox', waiting(25, { accepted_at: 60, replayed: true, alone: 0 }));
  await it.add('sent', sent(10), sent(30), sent(50), sent(20, { replayed_at: 40 }));
  const ids = [25, 50, 20, 30, 10].map((at) => idAt(at));
  for (const limit of [1, 2, 5]) {
    const told = await everyPage(limit, (page) => it.reader.messages(anyMessage, page));
    assert.deepEqual(
      told.rows.map(({ id }) => id),
      ids,
    );
    const any = { channel: null, state: null };
    const replies = await everyPage(limit, (page) => it.reader.deliveries(any, page));
    assert.deepEqual(
      replies.rows.map(({ message }) => message),
      ids.slice(1),
    );
  }
  const within = { ...anyMessage, since: 40, until: 60 };
  const told = await it.reader.messages(within, all);
  assert.deepEqual(
    told.rows.map(({ id }) => id),
    [50, 20].map((at) => idAt(at)),
  );
});

test('of rows that no index tells apart a page looks at so many, and none is lost', async () => {
  await using it = await Scratch.open();
  const many = looksMax * 2 + 500;
  const rare = [3, 5_003, looksMax, looksMax + 1, many - 1];
  const rows = Array.from({ length: many }, (_, at) => {
    return settled(at, { brain: rare.includes(at) ? 'rare' : 'main', body: '{}' });
  });
  await it.add('message', ...rows);
  const filter = { ...anyMessage, brain: 'rare' };
  const found = await everyPage(100, (page) => it.reader.messages(filter, page));
  assert.deepEqual(
    found.rows.map(({ id }) => id),
    rare.map((at) => idAt(at)).toReversed(),
  );
  assert.equal(found.pages, 3, 'a page ends where enough was looked at');
  const some = await everyPage(500, (page) => it.reader.messages(anyMessage, page));
  assert.deepEqual(
    some.rows.map(({ id }) => id),
    rows.map((row) => row['id']).toReversed(),
  );
});

test('dead letters are paged through, each once, and broken reasons break no list', async () => {
  await using it = await Scratch.open();
  const broken = ['', '{', 'null', '[1]', '{"kind":"nonsense","detail":"x"}', '{"kind":"gone"}'];
  const gone = '{"kind":"gone","detail":"x"}';
  const dead = Array.from({ length: 120 }, (_, at) => {
    return sent(at, { settled_at: Math.floor(at / 7), failure: broken[at] ?? gone });
  });
  await it.add('sent', ...dead);
  const { rows } = await everyPage(11, (page) => it.reader.deadLetters(page));
  assert.deepEqual(
    rows.map(({ id }) => id),
    dead.map((row) => row['id']).toReversed(),
  );
  const reasons = await it.reader.deadLetterReasons();
  assert.deepEqual(
    reasons.map(({ count }) => count),
    [dead.length - broken.length, broken.length],
  );
});

test('a page of long texts holds fewer rows, and loses none', async () => {
  await using it = await Scratch.open();
  const mega = 1024 * 1024;
  for (const [n, size] of [3, 3, 3, 9, 9, 1].entries()) {
    await it.add('turn', turn(n, { text: 'x'.repeat(size * mega) }));
  }
  const conversation = 'c' as ConversationId;
  for (const whose of [
    { kind: 'conversation', channel: hook, conversation } as const,
    { kind: 'sender', channel: hook, sender: 'ada' } as const,
  ]) {
    const first = await it.reader.turns(whose, all);
    assert.equal(first.rows.length, 2);
    const { rows } = await everyPage(500, (page) => it.reader.turns(whose, page));
    assert.deepEqual(
      rows.map(({ at }) => at),
      [0, 1, 2, 3, 4, 5],
    );
  }
});

test('a place that no page gave, whatever it names, harms nothing', async () => {
  await using it = await Scratch.open();
  await it.add('message', settled(10));
  const encode = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');
  const odd = [1e300, -1e300, 1.5, -1, 2 ** 60];
  for (const at of odd) {
    for (const after of [[at, '\0'], [at, at], [at]].map(encode)) {
      const page = { after, limit: 3 };
      const conversation = 'c' as ConversationId;
      const whose = { kind: 'conversation', channel: hook, conversation } as const;
      await it.reader.messages({ ...anyMessage, since: at, until: at }, page);
      await it.reader.deliveries({ channel: '\0', state: null }, page);
      await it.reader.deadLetters(page);
      await it.reader.turns(whose, page);
      await it.reader.toolUses(page);
      await it.reader.audit(page);
    }
  }
});
