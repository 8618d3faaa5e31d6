/**
 * Data from an older svc gives the same answers after the upgrade, and can be forgotten as before.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { takeBack } from '../../../../test/upgrade/former-database.ts';
import {
  accept,
  deliver,
  effects,
  exchange,
  hook,
  newIds,
  oneIn,
  oneOut,
  other,
  said,
  takeOut,
  type Bench,
} from '../../../../test/contract/ledger/kit.ts';
import { writeHere } from '../../../../test/fake/writer-here.ts';
import { failure } from '../../../domain/failure.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import type { MessageOwner } from '../../../domain/story.ts';
import { systemClock } from '../../../lib/clock.ts';
import { openSqliteReader } from '../read/reader.ts';
import { openSqliteLedger } from '../sqlite.ts';
import { backUp } from './backup.ts';

/** Before this version the turns were in another order. */
const former = 6;
const all = { after: null, limit: 100 };
const any = { channel: null, brain: null, state: null, outcome: null, since: null, until: null };
const everybody: readonly MessageOwner[] = [
  ...['ann', 'bob', 'cid', 'dee'].map((name): MessageOwner => {
    return { kind: 'conversation', channel: hook, conversation: name as ConversationId };
  }),
  { kind: 'sender', channel: hook, sender: 'sender of ann' },
  { kind: 'sender', channel: other, sender: 'sender of eve' },
];

function stage(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-former-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'svc.db');
}

async function open(path: string): Promise<Bench> {
  const base = { path, ...systemClock, ids: newIds(), retentionDays: 30, startWriter: writeHere };
  const publicNow = { channels: [hook], brains: ['main'] };
  const ledger = await openSqliteLedger({ ...base, publicNow });
  if ('kind' in ledger) throw new Error(ledger.message);
  const close = (): Promise<void> => ledger[Symbol.asyncDispose]();
  return {
    ledger,
    reopen: () => Promise.reject(new Error('open it')),
    [Symbol.asyncDispose]: close,
  };
}

/** Some of every kind of data that a ledger keeps. */
async function live(path: string): Promise<void> {
  await using it = await open(path);
  for (const text of ['one', 'two', 'three']) await exchange(it, 'ann', text, `re: ${text}`);
  for (let n = 0; n < 3; n++) await deliver(it, await oneOut(it));
  await accept(it, said('ann', 'cut here', { sensitivity: 'private' }));
  const cut = await oneIn(it);
  const session = { reason: 'idle', at: cut.message.acceptedAt } as const;
  await it.ledger.complete(cut, effects(cut, ['a new one'], { session }));
  await accept(it, said('bob', '/import'));
  const command = await oneIn(it);
  const quoted = { turn: null, imported: 'what was said before' };
  await it.ledger.complete(command, effects(command, ['imported'], quoted));
  await exchange(it, 'bob', 'go on', 'in two', 'parts');
  await accept(it, said('cid', 'refused'));
  const refused = await oneIn(it);
  await it.ledger.complete(refused, effects(refused, []));
  await accept(it, said('cid', 'seen without it'));
  const later = await oneIn(it);
  const leftOut = later.memory.turns;
  await it.ledger.complete(later, effects(later, ['yes'], { leftOut }));
  await accept(it, said('dee', 'never answered'));
  await it.ledger.deadLetter(await oneIn(it), failure('fault'));
  const [unwanted] = await takeOut(it);
  await it.ledger.deadLetter(unwanted!, failure('gone', { status: 410 }));
  await agentTurn(it);
  await accept(it, said('eve', 'elsewhere', { channel: other }));
  const target = { brain: 'main' };
  await it.ledger.recordWrite({
    at: Date.now(),
    action: 'config.apply',
    target,
    status: 200,
    reason: null,
  });
  await accept(it, said('ann', 'waits'), said('cid', 'waits'));
}

/** A turn with a note of each scope and a use of a tool. */
async function agentTurn(it: Bench): Promise<void> {
  await accept(it, said('ann', 'note this'));
  const claim = await oneIn(it);
  const note = { at: 1_000, text: 'noted', sensitivity: 'public' } as const;
  const scopes = [{ kind: 'conversation' }, { kind: 'brain', brain: 'main' }] as const;
  const notes = scopes.map((scope) => ({ kind: 'add', scope, note, notesMax: 9 }) as const);
  const did = { at: 1, ms: 1.5, tool: 'calc', mode: 'allow', rule: 'r', outcome: 'done' } as const;
  const toolUses = [{ ...did, key: `${claim.message.id}:1:0`, arguments: '{}', told: null }];
  await it.ledger.complete(claim, { ...effects(claim, ['42']), notes, toolUses });
}

/** The answers to every question of the reader. */
async function answersOf(path: string) {
  const reader = openSqliteReader(path);
  assert.ok(!('kind' in reader), 'it can be read');
  await using _ = reader;
  const messages = await reader.messages(any, all);
  const deadLetters = await reader.deadLetters(all);
  const conversations = await reader.conversations(all);
  const toolUses = await reader.toolUses(all);
  const each = async <T, A>(of: readonly T[], ask: (one: T) => Promise<A>): Promise<A[]> =>
    Promise.all(of.map(ask));
  const here = { kind: 'conversation', channel: hook, conversation: 'ann' } as const;
  return {
    messages,
    deadLetters,
    conversations,
    toolUses,
    stories: await each(messages.rows, ({ id }) => reader.story(id)),
    storyTexts: await each(messages.rows, ({ id }) => reader.storyText(id)),
    deadLetterTexts: await each(deadLetters.rows, ({ id }) => reader.deadLetter(id)),
    deadLetterReasons: await reader.deadLetterReasons(),
    conversation: await each(conversations.rows, (row) => reader.conversation(row)),
    turns: await each(everybody, (whose) => reader.turns(whose, all)),
    toolUseTexts: await each(toolUses.rows, ({ key }) => reader.toolUse(key)),
    notes: await reader.notes({ ...here, conversation: 'ann' as ConversationId }),
    notesOfBrain: await reader.notes({ kind: 'brain', brain: 'main' }),
    channelKeys: await each(['webhook', 'messenger_a'], (type) => reader.channelKeys(type)),
    private: await each(['webhook', 'messenger_a'], (type) => reader.privateConversations(type)),
    deliveries: await reader.deliveries({ channel: null, state: null }, all),
    counts: await reader.conversationCounts(),
    audit: await reader.audit(all),
  };
}

/** What waiting turns are shown, and how much there is to forget of every person. */
async function workedOn(path: string) {
  await using it = await open(path);
  const shown = await it.ledger.claim('in', hook, 10);
  const memories = shown.map(({ message, memory }) => [message.text, memory]);
  await Promise.all(shown.map((claim) => it.ledger.release(claim)));
  const forgotten: number[] = [];
  for (const whose of everybody.toReversed()) forgotten.push(await it.ledger.forget(whose));
  return { memories, forgotten };
}

test('a database of before answers as it did, also from a backup', async (t) => {
  const path = stage(t);
  await live(path);
  const before = await answersOf(path);
  const unanswered = Object.entries(before).filter(([, answer]) => JSON.stringify(answer) === '[]');
  assert.deepEqual(unanswered, [], 'there is something of everything');
  assert.equal(before.conversations.rows.length, 5);

  takeBack(path, former);
  const older = openSqliteReader(path);
  assert.equal('kind' in older && older.code, 'storage_older');
  const copy = `${path}.copy`;
  assert.equal(backUp(path, copy).kind, 'backed_up');
  for (const database of [path, copy]) {
    await (await open(database))[Symbol.asyncDispose]();
    assert.deepEqual(await answersOf(database), before);
  }
});

test('a database of before is worked on, and forgotten, as it was', async (t) => {
  const [path, same] = [stage(t), stage(t)];
  await live(path);
  assert.equal(backUp(path, same).kind, 'backed_up');
  takeBack(path, former);
  const now = await workedOn(path);
  assert.deepEqual(now, await workedOn(same));
  assert.equal(now.memories.length, 2);
  assert.equal(now.forgotten.filter((count) => count > 0).length, 5, 'ann was forgotten by name');
  for (const database of [path, same]) {
    using db = new DatabaseSync(database, { readOnly: true });
    for (const table of ['turns', 'conversations', 'conversation_counts']) {
      assert.equal(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'], 0, table);
    }
  }
});
