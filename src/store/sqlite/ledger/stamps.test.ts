/** Databases from before texts were stamped as private or public. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { accept, hook, ids, oneIn, other, said } from '../../../../test/contract/ledger/kit.ts';
import { writeHere } from '../../../../test/fake/writer-here.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { systemClock } from '../../../lib/clock.ts';
import { applicationId, migrationFiles } from '../files/migrations.ts';
import { openSqliteLedger } from '../sqlite.ts';
import type { PublicNow } from './stamps.ts';

const versionBefore = 4;
const migrations = new URL('../files/migrations/', import.meta.url);

const publicHook: PublicNow = { channels: [hook], brains: ['open'] };
const nothingPublic: PublicNow = { channels: [], brains: [] };

/** A database of that version: ann's turns by these brains, bob's message unsettled, a note. */
async function databaseBefore(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-stamps-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'svc.db');
  using db = new DatabaseSync(path);
  for (const name of migrationFiles().slice(0, versionBefore)) {
    db.exec(readFileSync(new URL(name, migrations), 'utf8'));
  }
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${versionBefore};`);
  const body = JSON.stringify({
    sender: { id: 's', name: null },
    text: 'hi',
    media: null,
    target: 'x',
  });
  const inbox = db.prepare(
    'INSERT INTO inbox VALUES (?, ?, ?, ?, 1, ?, ?, 0, ?, NULL, 0, ?, ?, ?)',
  );
  const turn = db.prepare("INSERT INTO turns VALUES (?, ?, 1, ?, 1, ?, 'yes', 's')");
  let seq = 0;
  for (const channel of [hook, other]) {
    for (const brain of ['open', 'closed', 'gone']) {
      inbox.run(++seq, `id${seq}`, channel, 'ann', body, 1, Date.now(), brain, 'reply', null);
      turn.run(channel, 'ann', seq, `by ${brain}`);
    }
    inbox.run(++seq, `id${seq}`, channel, 'bob', body, 0, null, null, null, null);
    // Its message has been swept away.
    turn.run(channel, 'ann', ++seq, 'by nobody knows whom');
  }
  const note = db.prepare('INSERT INTO notes VALUES (?, ?, ?, ?, 1, ?)');
  for (const brain of [null, 'open', 'closed']) note.run(++seq, brain, hook, 'ann', `of ${brain}`);
  return path;
}

async function openAt(path: string, publicNow: PublicNow | null) {
  const more = { publicNow, startWriter: writeHere };
  const opened = await openSqliteLedger({ path, ...systemClock, ids, retentionDays: 30, ...more });
  if ('kind' in opened) throw new Error(opened.message);
  const bench = { ledger: opened, reopen: () => Promise.reject(new Error('not here')) };
  return { ...bench, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

/** What is public of all that the database holds. */
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
    for (const brain of [null, 'open', 'closed']) {
      const scope = brain === null ? ({ kind: 'conversation' } as const) : ofBrain(brain);
      for (const { text, sensitivity } of await it.ledger.notes(ann, scope)) {
        if (sensitivity === 'public' && channel === hook) found.push(`note ${text}`);
      }
    }
    for (const claim of claims) await it.ledger.release(claim);
  }
  return found;
}

const ofBrain = (brain: string) => ({ kind: 'brain', brain }) as const;

const whatIsPublic = [
  'bob on webhook',
  'by open on webhook',
  'by nobody knows whom on webhook',
  'note of null',
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

test('what is said from then on has a stamp of its own', async (t) => {
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
