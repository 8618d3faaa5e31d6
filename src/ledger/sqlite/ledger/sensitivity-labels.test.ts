/** Databases from before texts had sensitivity labels. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { accept, hook, ids, oneIn, other, said } from '../../../../test/contract/ledger/kit.ts';
import { writeHere } from '../../../../test/fake/writer-here.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { systemClock } from '../../../lib/clock.ts';
import { applicationId, migrate, migrationFiles } from '../files/migrations.ts';
import { openSqliteLedger } from '../sqlite.ts';
import { sweep } from '../write/sweep.ts';
import type { PublicNow } from './sensitivity-labels.ts';

const versionBefore = 4;
const migrations = new URL('../files/migrations/', import.meta.url);

const publicHook: PublicNow = { channels: [hook], brains: ['open'] };
const nothingPublic: PublicNow = { channels: [], brains: [] };

const body = (text: string): string =>
  JSON.stringify({ sender: { id: 's', name: null }, text, media: null, target: 'x' });
const idOf = (seq: number): string => `m${String(seq).padStart(21, '0')}`;

/** Fills a database in the state that the version before labels left. */
class Filling {
  readonly db: DatabaseSync;
  readonly #inbox: StatementSync;
  readonly #turn: StatementSync;
  #seq = 0;

  constructor(db: DatabaseSync) {
    this.db = db;
    const values = '(?, ?, ?, ?, 1, ?, ?, 0, ?, NULL, 0, ?, ?, NULL)';
    this.#inbox = db.prepare(`INSERT INTO inbox VALUES ${values}`);
    this.#turn = db.prepare('INSERT INTO turns VALUES (?, ?, ?, ?, 1, ?, ?, ?)');
  }

  /**
   * @param brain null: the message waits
   * @param state 1: settled, 2: dead
   */
  message(channel: string, who: string, text: string, brain: string | null, state = 1): string {
    const id = idOf(++this.#seq);
    const ended = brain === null ? ([0, null] as const) : ([state, this.settledAt] as const);
    const outcome = brain === null ? null : 'reply';
    this.#inbox.run(this.#seq, id, channel, who, body(text), ...ended, brain, outcome);
    return id;
  }

  settledAt = Date.now();

  /** The turn of the message before. @param isSwept the sweep has deleted its message */
  turn(channel: string, text: string, isSwept = false): void {
    if (isSwept) this.#seq++;
    this.#turn.run(channel, 'ann', 1, this.#seq, text, 'yes', 's');
  }

  quoted(channel: string, text: string): void {
    this.#turn.run(channel, 'ann', 2, ++this.#seq, text, null, null);
    this.db.prepare('INSERT INTO conversations VALUES (?, ?, 2, 1, 1)').run(channel, 'ann');
  }

  note(channel: string, who: string, brain: string | null, text: string): void {
    const note = this.db.prepare('INSERT INTO notes VALUES (?, ?, ?, ?, 1, ?)');
    note.run(++this.#seq, brain, channel, who, text);
  }
}

async function filled(t: TestContext, fill: (it: Filling) => void): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-stamps-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'svc.db');
  using db = new DatabaseSync(path);
  for (const name of migrationFiles().slice(0, versionBefore)) {
    db.exec(readFileSync(new URL(name, migrations), 'utf8'));
  }
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${versionBefore};`);
  fill(new Filling(db));
  return path;
}

/**
 * A database with Ann's turns by these brains, Bob's waiting message, and notes of both and of
 * brains.
 */
function databaseBefore(t: TestContext): Promise<string> {
  return filled(t, (it) => {
    for (const channel of [hook, other]) {
      for (const brain of ['open', 'closed', 'gone']) {
        it.message(channel, 'ann', 'hi', brain);
        it.turn(channel, `by ${brain}`);
      }
      it.message(channel, 'bob', 'hi', null);
      it.turn(channel, 'by nobody knows whom', true);
    }
    it.note(hook, 'ann', null, 'of ann');
    it.note(hook, 'bob', null, 'of bob');
    for (const brain of ['open', 'closed']) it.note(hook, 'bob', brain, `of ${brain}`);
  });
}

async function openAt(path: string, publicNow: PublicNow | null) {
  const more = { publicNow, startWriter: writeHere };
  const opened = await openSqliteLedger({ path, ...systemClock, ids, retentionDays: 30, ...more });
  if ('kind' in opened) throw new Error(opened.message);
  const bench = { ledger: opened, reopen: () => Promise.reject(new Error('not here')) };
  return { ...bench, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

/** All public texts of the database. */
async function publicAt(path: string, now: PublicNow | null): Promise<readonly string[]> {
  await using it = await openAt(path, now);
  const found: string[] = [];
  for (const channel of [hook, other]) {
    await accept(it, said('ann', 'again', { channel }));
    const claims = await it.ledger.claim('in', channel, 10);
    const bob = claims.find(({ message }) => message.conversation === 'bob')!;
    const ann = claims.find(({ message }) => message.conversation === 'ann')!;
    if (bob.message.sensitivity === 'public') found.push(`bob on ${channel}`);
    for (const { text, sensitivity } of ann.memory.turns) {
      if (sensitivity === 'public') found.push(`${text} on ${channel}`);
    }
    if (channel === other) continue;
    const own = { kind: 'conversation' } as const;
    for (const [claim, scope] of [
      [ann, own],
      [bob, own],
      [ann, ofBrain('open')],
      [ann, ofBrain('closed')],
    ] as const) {
      for (const { text, sensitivity } of await it.ledger.notes(claim, scope)) {
        if (sensitivity === 'public') found.push(`note ${text}`);
      }
    }
  }
  return found;
}

const ofBrain = (brain: string) => ({ kind: 'brain', brain }) as const;

const whatIsPublic = [
  'bob on webhook',
  'by open on webhook',
  'by nobody knows whom on webhook',
  'note of bob',
  'note of open',
];

test('what was said to a public brain on a channel that is public now is public', async (t) => {
  const path = await databaseBefore(t);
  assert.deepEqual(await publicAt(path, publicHook), whatIsPublic);
});

test('the first configuration decides for good', async (t) => {
  const path = await databaseBefore(t);
  assert.deepEqual(await publicAt(path, publicHook), whatIsPublic);
  const later = { channels: [hook, other], brains: ['open', 'closed', 'gone'] };
  assert.deepEqual(await publicAt(path, later), whatIsPublic, 'it becomes no weaker');
  assert.deepEqual(await publicAt(path, nothingPublic), whatIsPublic, 'and no stricter');
});

test('where all is private at first, it stays so', async (t) => {
  const path = await databaseBefore(t);
  assert.deepEqual(await publicAt(path, nothingPublic), []);
  assert.deepEqual(await publicAt(path, publicHook), []);
});

test('a command that works on no message leaves the decision to the service', async (t) => {
  const path = await databaseBefore(t);
  assert.deepEqual(await publicAt(path, null), []);
  assert.deepEqual(await publicAt(path, publicHook), whatIsPublic);
});

test('a dead letter that comes back before the first start keeps what it was', async (t) => {
  let id = '';
  const path = await filled(t, (it) => void (id = it.message(hook, 'ann', 'hi', 'closed', 2)));
  {
    await using it = await openAt(path, null);
    assert.equal(await it.ledger.replay(id), 'done');
  }
  await using it = await openAt(path, publicHook);
  assert.equal((await oneIn(it)).message.sensitivity, 'private');
});

test('a dead letter that comes back later is public where its channel was', async (t) => {
  let id = '';
  const path = await filled(t, (it) => void (id = it.message(hook, 'ann', 'hi', 'open', 2)));
  await using it = await openAt(path, publicHook);
  assert.equal(await it.ledger.replay(id), 'done');
  assert.equal((await oneIn(it)).message.sensitivity, 'public');
});

test('nothing is swept away that tells the label of something else', async (t) => {
  const path = await filled(t, (it) => {
    it.settledAt = Date.now() - 31 * 86_400_000;
    it.message(hook, 'ann', 'hi', 'closed');
    it.turn(hook, 'by closed');
    it.settledAt = Date.now();
    it.message(hook, 'bob', 'hi', 'open');
  });
  using db = new DatabaseSync(path);
  migrate(db);
  assert.equal(sweep(db, 30, Date.now()).rows, 0);
  db.exec('UPDATE owner SET stamped = 1');
  assert.equal(sweep(db, 30, Date.now()).rows, 1);
});

test('what was quoted of private turns is private', async (t) => {
  const path = await filled(t, (it) => {
    it.message(hook, 'ann', 'hi', 'closed');
    it.turn(hook, 'by closed');
    it.quoted(hook, '> by closed');
  });
  await using it = await openAt(path, publicHook);
  await accept(it, said('ann', 'again'));
  const { memory } = await oneIn(it);
  assert.deepEqual(
    memory.turns.map(({ text, sensitivity }) => [text, sensitivity]),
    [['> by closed', 'private']],
  );
});

test('a backup of before, restored over what is labelled, gets the same labels', async (t) => {
  const path = await databaseBefore(t);
  const backup = `${path}.backup`;
  await copyFile(path, backup);
  assert.deepEqual(await publicAt(path, nothingPublic), []);
  for (const end of ['', '-wal', '-shm']) await rm(`${path}${end}`, { force: true });
  await copyFile(backup, path);
  assert.deepEqual(await publicAt(path, publicHook), []);
});

test('what is said from then on has a label of its own', async (t) => {
  const path = await databaseBefore(t);
  await using it = await openAt(path, nothingPublic);
  const channel = 'messenger_b:1' as ChannelKey;
  for (const sensitivity of ['public', 'private'] as const) {
    await accept(it, said('cid', 'hello', { channel, sensitivity }));
    const claim = await oneIn(it, channel);
    assert.equal(claim.message.sensitivity, sensitivity);
    await it.ledger.release(claim);
    await it.ledger.forget({
      kind: 'conversation',
      channel,
      conversation: claim.message.conversation,
    });
  }
});
