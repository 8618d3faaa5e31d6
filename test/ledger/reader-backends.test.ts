/** The readers of SQLite and of PostgreSQL give the same answers on the same rows. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { failure } from '../../src/domain/failure.ts';
import { createIdSource, type ChannelKey, type ReplyId } from '../../src/domain/ids.ts';
import type { Page, PageRequest } from '../../src/domain/page.ts';
import { anyMessage } from '../../src/domain/records.ts';
import type { Story } from '../../src/domain/story.ts';
import type { TurnOutcome } from '../../src/domain/trace.ts';
import { steadyNow } from '../../src/lib/clock.ts';
import { openReader } from '../../src/app/storage.ts';
import { createPostgresReader } from '../../src/ledger/postgres/read/reader.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { openMigration } from '../../src/ledger/migrate/open.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import type { InClaim, Ledger, LedgerReader } from '../../src/ledger/ledger.ts';
import { seeded } from '../chaos/proof.ts';
import { accepted, effects, hook, other, said } from '../contract/ledger/kit.ts';
import { putNewDatabase } from '../fake/new-database.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { writeHere } from '../fake/writer-here.ts';

const steps = 250;
const channels = [hook, other, 'messenger_a:9' as ChannelKey];
const gone = failure('gone', { status: 410 });
const down = failure('server_error', { status: 502 });

/** Works a ledger at random; a millisecond passes at each read of the clock. */
async function work(ledger: Ledger, chance: () => number, shift: () => void): Promise<string[]> {
  const ids: string[] = [];
  const one = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)]!;
  for (let step = 0; step < steps; step++) {
    const channel = one(channels);
    const who = one(['ada', 'bob', 'c c', 'é', '🦜']);
    const sensitivity = one(['public', 'private'] as const);
    const inbound = said(who, `text ${step}`, { channel, sensitivity });
    const [receipt] = accepted(await ledger.accept([inbound]));
    ids.push(receipt!.id);
    if (chance() < 0.1) continue;
    for (const claim of await ledger.claim('in', channel, 1)) await end(ledger, claim, chance);
    for (const claim of await ledger.claim('out', channel, chance() < 0.2 ? 0 : 2)) {
      const dice = chance();
      const how = { park: chance() < 0.5, possibleDuplicate: chance() < 0.5 };
      if (dice < 0.6) await ledger.delivered(claim);
      else if (dice < 0.8) await ledger.deadLetter(claim, one([gone, down]));
      else await ledger.defer(claim, Date.now() + 9_000_000, down, how);
    }
    if (chance() < 0.05) await ledger.replay(one(ids));
    shift();
  }
  return ids;
}

async function end(ledger: Ledger, claim: InClaim, chance: () => number): Promise<void> {
  const made = effects(claim, chance() < 0.1 ? [] : ['hi']);
  const outcome: TurnOutcome = chance() < 0.8 ? 'reply' : 'busy';
  const trace = { ...made.trace!, outcome, brain: chance() < 0.7 ? 'main' : 'other' };
  const cut = chance() < 0.2;
  const [whole] = made.replies;
  const parts = chance() < 0.3 && whole !== undefined ? ['00', '01', '02'] : [];
  const split = parts.map((part) => ({ ...whole!, id: `${whole!.id}-${part}` as ReplyId }));
  const { sensitivity } = claim.message;
  const note = { at: claim.message.acceptedAt, text: 'noted', sensitivity };
  const use = {
    key: `${claim.message.id}:1:0`,
    at: 1,
    ms: 2,
    tool: 'calc',
    mode: 'allow',
  } as const;
  const whole_ = {
    ...made,
    trace,
    replies: parts.length > 0 ? split : made.replies,
    session: cut ? ({ reason: 'idle', at: note.at } as const) : null,
    notes: [{ kind: 'add', scope: { kind: 'conversation' }, note, notesMax: 9 } as const],
    toolUses: [{ ...use, rule: 'r', outcome: 'done', arguments: '{}', told: 'it is' } as const],
  };
  if (chance() < 0.15) await ledger.deadLetter(claim, gone, whole_);
  else await ledger.complete(claim, whole_);
}

/** Reads every row of a list, three a page. */
async function all<Row>(read: (page: PageRequest) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: string | null = null; ;) {
    const page: Page<Row> = await read({ after, limit: 3 });
    rows.push(...page.rows);
    if (page.next === null) return rows;
    after = page.next;
  }
}

/** SQLite keeps the trace of a message whose process died while the message waits for a retry. */
async function storyOf(reader: LedgerReader, id: string): Promise<Story | null> {
  const story = await reader.story(id);
  return story?.state === 'waiting' ? { ...story, trace: null } : story;
}

/** Everything that a reader returns. */
async function told(reader: LedgerReader, ids: readonly string[]): Promise<object> {
  const filters = [
    {},
    { channel: 'messenger_a' },
    { channel: hook, state: 'dead' },
    { state: 'waiting' },
    { state: 'answered', brain: 'other' },
    { outcome: 'busy' },
    { outcome: 'reply', channel: other },
    { outcome: 'busy', state: 'dead' },
  ] as const;
  const states = [null, 'waiting', 'deferred', 'delivered', 'dead'] as const;
  const messages = await Promise.all(
    filters.map((filter) => all((page) => reader.messages({ ...anyMessage, ...filter }, page))),
  );
  const times = messages[0]!.map(({ acceptedAt }) => acceptedAt).toSorted((a, b) => a - b);
  const [since, until] = [times[60]!, times[150]!];
  const letters = await all((page) => reader.deadLetters(page));
  const conversations = await all((page) => reader.conversations(page));
  const senders = ['ada', 'é'].map((who) => `sender of ${who}`);
  return {
    messages,
    within: await all((page) => reader.messages({ ...anyMessage, since, until }, page)),
    deliveries: await Promise.all(
      states.flatMap((state) =>
        [null, hook, 'messenger_a'].map((channel) => {
          return all((page) => reader.deliveries({ channel, state }, page));
        }),
      ),
    ),
    letters,
    letterTexts: await Promise.all(letters.map(({ id }) => reader.deadLetter(id))),
    reasons: await reader.deadLetterReasons(),
    stories: await Promise.all(ids.slice(0, 50).map((id) => storyOf(reader, id))),
    texts: await Promise.all(ids.slice(-50).map((id) => reader.storyText(id))),
    conversations,
    conversation: await Promise.all(conversations.map((row) => reader.conversation(row))),
    turns: await Promise.all(
      conversations.map(({ channel, conversation }) => {
        return all((page) => {
          return reader.turns({ kind: 'conversation', channel, conversation }, page);
        });
      }),
    ),
    turnsOfSender: await Promise.all(
      senders.map((sender) =>
        all((page) => reader.turns({ kind: 'sender', channel: hook, sender }, page)),
      ),
    ),
    notes: await Promise.all(
      conversations.map(({ channel, conversation }) => {
        return reader.notes({ kind: 'conversation', channel, conversation });
      }),
    ),
    uses: await all((page) => reader.toolUses(page)),
    use: await reader.toolUse(`${ids[1]}:1:0`),
    keys: [await reader.channelKeys('messenger_a'), await reader.channelKeys('messenger_b')],
    hidden: [await reader.privateConversations('webhook'), await reader.privateConversations('x')],
    counts: await reader.conversationCounts(),
    audit: await all((page) => reader.audit(page)),
  };
}

test('both tell the same of all that happens', { skip: noPostgres }, async (t) => {
  const seed = Number(process.env['SVC_SEED'] ?? Date.now());
  t.diagnostic(`SVC_SEED=${seed}`);
  const chance = seeded(seed);
  const folder = await mkdtemp(join(tmpdir(), 'svc-reader-'));
  const path = join(folder, 'svc.db');
  await putNewDatabase(path);
  let time = Date.now() - 1_000_000;
  const now = (): number => ++time;
  const random = (bytes: Uint8Array): void => void bytes.fill(Math.floor(chance() * 256));
  const ids = createIdSource(now, random);
  const clock = { now, steady: steadyNow };
  const options = { path, ...clock, ids, retentionDays: 30, startWriter: writeHere };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  const known = await work(ledger, chance, now);
  await ledger.recordWrite({ at: 1, action: 'replay', target: {}, status: 200, reason: null });
  await ledger[Symbol.asyncDispose]();
  const url = await newDatabase();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(folder, { recursive: true }));
  await move(path, url);
  await using sqlite = await opened(path);
  await using postgres = createPostgresReader(() => connect(url), { waitingMax: 1_000 });
  const [theirs, ours] = [await told(sqlite, known), await told(postgres, known)];
  for (const [what, expected] of Object.entries(theirs)) {
    assert.deepEqual(ours[what as keyof typeof ours], expected, what);
  }
});

async function move(path: string, url: string): Promise<void> {
  const migration = await openMigration({ kind: 'file', path }, { kind: 'server', url });
  if ('code' in migration) throw new Error(migration.message);
  await using open = migration;
  const moved = await open.run({ copied() {}, comparing() {} }, new AbortController().signal);
  assert.equal(moved.kind, 'moved');
}

async function opened(path: string): Promise<LedgerReader> {
  const reader = await openReader({ kind: 'file', path });
  if ('kind' in reader) throw new Error(reader.message);
  return reader;
}
