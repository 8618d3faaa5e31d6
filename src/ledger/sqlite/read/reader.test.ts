/** What only the SQLite reader has: unreadable files, odd keys, many rows. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import {
  addDead,
  addTurn,
  addWaiting,
  all,
  everyPage,
  hook,
  ReadFile,
} from '../../../../test/fake/read-file.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import { ReadFailed } from '../../ledger.ts';
import { applicationId } from '../files/migrations.ts';

test('what cannot be read says why', () => {
  using place = new ReadFile();
  assert.equal(place.problem(), 'storage_missing');
  writeFileSync(place.path, '');
  assert.equal(place.problem(), 'storage_older', 'svc made the file and then never ran');
  const first = readFileSync(
    new URL('../files/migrations/0001-start.sql', import.meta.url),
    'utf8',
  );
  const db = new DatabaseSync(place.path);
  db.exec(`PRAGMA application_id = ${applicationId}; ${first} PRAGMA user_version = 1;`);
  assert.equal(place.problem(), 'storage_older');
  db.exec('PRAGMA user_version = 999');
  assert.equal(place.problem(), 'storage_newer');
  db.exec('PRAGMA application_id = 5');
  assert.equal(place.problem(), 'storage_foreign');
  db.close();
  writeFileSync(place.path, 'This is a text and no database at all. '.repeat(100));
  assert.equal(place.problem(), 'storage_foreign');
});

test('1,200 dead letters are paged through while new ones arrive, each once', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  const dead = Array.from({ length: 1_200 }, (_, at) => addDead(db, 1_000 + Math.floor(at / 7)));
  const late: string[] = [];
  const rows = await everyPage(
    (page) => reader.deadLetters(page),
    100,
    (page) => void late.push(addDead(db, 5_000 + page)),
  );
  assert.deepEqual(
    rows.map(({ id }) => id),
    dead.toReversed(),
  );
  const newest = (await reader.deadLetters({ after: null, limit: 3 })).rows;
  assert.deepEqual(
    newest.map(({ id }) => id),
    late.toReversed().slice(0, 3),
  );
  const [reason] = await reader.deadLetterReasons();
  assert.deepEqual([reason?.kind, reason?.count], ['gone', dead.length + late.length]);
});

test('a reason that cannot be read breaks no list', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  const broken = ['', '{', 'null', '[1]', '{"kind":"nonsense","detail":"x"}', '{"kind":"gone"}'];
  for (const failure of broken) addDead(db, 5, failure);
  const { rows } = await reader.deadLetters(all);
  assert.deepEqual(new Set(rows.map(({ failure }) => failure.detail)).size, 1);
  assert.match(rows[0]!.failure.detail, /cannot be read/);
  const [reason, ...more] = await reader.deadLetterReasons();
  assert.deepEqual([reason?.count, more], [broken.length, []]);
});

test('a trace, tries or body that cannot be read are told as missing', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  const id = addWaiting(db, 'c');
  const steps = [{ kind: 'shield', dropped: [], kept: 1 }];
  const times = { acceptedAt: 1, claimedAt: 2, decidedAt: 3 };
  const sound = { ...times, brain: 'main', attempt: 1, outcome: 'reply', steps };
  const put = db.prepare('INSERT OR REPLACE INTO traces VALUES (?, ?)');
  const broken = ['', '{"acceptedAt":', 'null', '[]', '7', '{}', '{"steps":[null]}'];
  for (const body of [...broken, JSON.stringify({ ...sound, steps: [...steps, null] })]) {
    put.run(id, body);
    assert.equal((await reader.story(id))?.trace, null, body);
  }
  put.run(id, JSON.stringify(sound));
  assert.deepEqual((await reader.story(id))?.trace, sound);
  const dead = addDead(db, 5);
  for (const tries of ['{', '7', '[7, null, ["a", 1], {}]']) {
    db.prepare('UPDATE outbox SET tries = ? WHERE id = ?').run(tries, dead);
    assert.deepEqual((await reader.deadLetter(dead))?.tries, []);
  }
  for (const body of ['', '{}', 'null', '{"text":1,"sender":{"id":"ada"}}', '{"text":"x"}']) {
    db.prepare('UPDATE inbox SET body = ? WHERE id = ?').run(body, id);
    assert.equal(await reader.storyText(id), null, body);
  }
});

test('conversations keep their order over odd ids, waiting and cut ones between them', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  const odd = ['', ' ', 'a b', 'a%', 'a_', '%', "'", '"', 'é', '\uffee', '🦜', 'x'.repeat(1_024)];
  const spoken = [...odd, ...Array.from({ length: 30 }, (_, at) => `c${at}`)];
  for (const conversation of spoken) addTurn(db, conversation);
  const waits = ['a%b', 'zz', '𐀀 waits'];
  for (const conversation of waits) addWaiting(db, conversation);
  addWaiting(db, 'é');
  db.exec("INSERT INTO conversations VALUES ('webhook', 'c5', 3, 5, 6, NULL)");
  db.exec("INSERT INTO conversations VALUES ('webhook', 'only cut', 2, 5, 6, NULL)");
  const expected = db
    .prepare('SELECT value FROM json_each(?) ORDER BY value')
    .all(JSON.stringify([...spoken, ...waits, 'only cut']))
    .map(({ value }) => value);
  for (const limit of [1, 7, 500]) {
    const rows = await everyPage((page) => reader.conversations(page), limit);
    assert.deepEqual(
      rows.map(({ conversation }) => conversation),
      expected,
    );
    const find = (name: string) => rows.find(({ conversation }) => conversation === name)!;
    assert.deepEqual([find('é').turns, find('é').waiting], [1, 1]);
    assert.deepEqual([find('zz').turns, find('zz').waiting, find('zz').sessions], [0, 1, 1]);
    assert.deepEqual([find('c5').sessions, find('only cut').lastAt], [3, 6]);
  }
  for (const conversation of [...spoken, ...waits] as ConversationId[]) {
    const found = await reader.conversation({ channel: hook, conversation });
    assert.equal(found?.conversation, conversation);
    const whose = { kind: 'conversation', channel: hook, conversation } as const;
    const { rows } = await reader.turns(whose, all);
    assert.equal(rows.length, waits.includes(conversation) ? 0 : 1);
  }
  const nowhere = { channel: hook, conversation: 'a' as ConversationId };
  assert.equal(await reader.conversation(nowhere), null);
});

test('a conversation tells its sessions and cuts; its turns come in their order', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  for (const session of [1, 1, 2, 3]) addTurn(db, 'c', { session });
  addTurn(db, 'c', { session: 3, sender: null, reply: null });
  addTurn(db, 'other');
  db.exec(
    "INSERT INTO cuts VALUES ('webhook', 'c', 2, 7, 'idle'), ('webhook', 'c', 3, 9, 'daily')",
  );
  const where = { channel: hook, conversation: 'c' as ConversationId };
  const conversation = await reader.conversation(where);
  assert.deepEqual([conversation?.turns, conversation?.sessions, conversation?.waiting], [5, 3, 0]);
  assert.deepEqual(conversation?.cuts, [
    { session: 2, at: 7, reason: 'idle' },
    { session: 3, at: 9, reason: 'daily' },
  ]);
  const whose = { kind: 'conversation', ...where } as const;
  const turns = await everyPage((page) => reader.turns(whose, page), 2);
  assert.deepEqual(
    turns.map(({ session, sender }) => [session, sender]),
    [
      [1, 'ada'],
      [1, 'ada'],
      [2, 'ada'],
      [3, 'ada'],
      [3, null],
    ],
  );
  assert.ok(turns.every(({ at }, index) => index === 0 || at > turns[index - 1]!.at));
});

test('what one sender said is found in every conversation, oldest first', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  for (let at = 0; at < 40; at++) {
    addTurn(db, `c${at % 7}`, { sender: at % 3 === 0 ? 'bob' : 'ada', text: `t${at}` });
  }
  const whose = { kind: 'sender', channel: hook, sender: 'bob' } as const;
  const turns = await everyPage((page) => reader.turns(whose, page), 4);
  assert.deepEqual(
    turns.map(({ text }) => text),
    Array.from({ length: 14 }, (_, at) => `t${at * 3}`),
  );
});

test('a page of long texts holds fewer rows, and loses none', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  const text = 'x'.repeat(3 * 1024 * 1024);
  for (let at = 0; at < 5; at++) addTurn(db, 'c', { text });
  const whose = {
    kind: 'conversation',
    channel: hook,
    conversation: 'c' as ConversationId,
  } as const;
  const first = await reader.turns(whose, all);
  assert.equal(first.rows.length, 2);
  const turns = await everyPage((page) => reader.turns(whose, page), 500);
  assert.deepEqual(new Set(turns.map(({ at }) => at)).size, 5);
  assert.equal(turns.length, 5);
});

test('a story is read while the writer is in the middle of something else', async () => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  const id = addWaiting(db, 'c');
  db.exec('BEGIN IMMEDIATE');
  for (let at = 0; at < 5_000; at++) addWaiting(db, 'busy');
  assert.equal((await reader.story(id))?.state, 'waiting');
  assert.equal((await reader.conversations(all)).rows.length, 1, 'only what was committed');
  db.exec('COMMIT');
  assert.equal((await reader.conversations(all)).rows.at(0)?.waiting, 5_000);
});

test('a database that nobody runs on is read, and left as it was', async () => {
  using place = new ReadFile();
  const db = place.make();
  const id = addWaiting(db, 'c');
  db.close();
  const before = readFileSync(place.path);
  {
    await using reader = place.open();
    assert.equal((await reader.story(id))?.id, id);
    assert.equal((await reader.storyText(id))?.text, 'hi');
  }
  assert.deepEqual(readFileSync(place.path), before);
});

test('a damaged database refuses what it cannot answer with a sentence', async () => {
  using place = new ReadFile();
  const db = place.make();
  const id = addWaiting(db, 'c');
  for (let at = 0; at < 4_000; at++) addTurn(db, `c${at}`);
  db.close();
  const bytes = readFileSync(place.path);
  const from = bytes.length / 2;
  writeFileSync(place.path, bytes.fill(0xff, from));
  await using reader = place.open();
  assert.equal((await reader.story(id))?.id, id);
  await assert.rejects(
    everyPage((page) => reader.conversations(page), 500),
    (error) => error instanceof ReadFailed && /is damaged; restore/.test(error.message),
  );
});

test('20,000 turns in 2,000 conversations are listed by looks at the index', async (t) => {
  using place = new ReadFile();
  using db = place.make();
  await using reader = place.open();
  db.exec(
    'WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 19999) ' +
      'INSERT INTO turns (channel, conversation, session, seq, at, sender, text, reply) ' +
      `SELECT '${hook}', printf('conversation %04d', n / 10), 1, n, n, 'ada', ` +
      "printf('%.*c', 200, 'x'), printf('%.*c', 200, 'y') FROM n",
  );
  const startedAt = performance.now();
  const page = await reader.conversations({ after: null, limit: 50 });
  t.diagnostic(`a page of 50: ${(performance.now() - startedAt).toFixed(1)} ms`);
  assert.equal(page.rows.length, 50);
  assert.ok(page.rows.every(({ turns }) => turns === 10));
  const rows = await everyPage((asked) => reader.conversations(asked), 500);
  assert.equal(rows.length, 2_000);
});
