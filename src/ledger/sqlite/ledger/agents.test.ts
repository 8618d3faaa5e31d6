/** The stored data of agents in SQLite, as it is on the disk. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '../../../lib/clock.ts';
import {
  accept,
  effects,
  hook,
  oneIn,
  said,
  ids,
  type Bench,
} from '../../../../test/contract/ledger/kit.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import type { NoteMove } from '../../../domain/note.ts';
import type { BegunCall, ToolUse } from '../../../domain/tool-use.ts';
import { NotOverwritten, type Effects, type InClaim } from '../../ledger.ts';
import { openSqliteLedger } from '../sqlite.ts';
import { sweep } from '../write/sweep.ts';
import type { SqliteLimits } from './limits.ts';

const dayMs = 86_400_000;
const canary = 'canary-93d0';
const ofMain = { kind: 'brain', brain: 'main' } as const;
const ofAnn = {
  kind: 'conversation',
  channel: hook,
  conversation: 'ann' as ConversationId,
} as const;

/** Runs with a ledger in a folder of its own. */
async function inFolder(
  run: (it: Bench, path: string, folder: string) => Promise<void>,
  limits: Partial<SqliteLimits> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-agents-'));
  const path = join(folder, 'svc.db');
  const options = { path, ...systemClock, ids, retentionDays: 30, limits };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  try {
    await run(
      { ledger, reopen: () => Promise.reject(), async [Symbol.asyncDispose]() {} },
      path,
      folder,
    );
  } finally {
    await ledger[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  }
}

function agentEffects(claim: InClaim, text: string): Effects {
  const note = { at: 1_000, text, sensitivity: 'public' } as const;
  const moves: NoteMove[] = [
    { kind: 'add', scope: { kind: 'conversation' }, note, notesMax: 9 },
    { kind: 'add', scope: ofMain, note, notesMax: 9 },
  ];
  const use: ToolUse = {
    key: `${claim.message.id}:1:0`,
    at: Date.now(),
    ms: 12,
    tool: 'webhook_call',
    mode: 'allow',
    rule: 'no_governance',
    outcome: 'done',
    arguments: JSON.stringify({ body: text }),
  };
  return { ...effects(claim, []), notes: moves, toolUses: [{ ...use, told: text }] };
}

function begun({ message }: InClaim, given: string): BegunCall {
  const use = {
    at: Date.now(),
    tool: 'webhook_call',
    mode: 'allow',
    rule: 'no_governance',
  } as const;
  return { ...use, key: `${message.id}:1:0`, hash: 'one', arguments: given, sensitivity: 'public' };
}

/** One finished turn with a tool call and a note. */
async function turn(it: Bench, who: string, text: string): Promise<void> {
  await accept(it, said(who, 'hello'));
  const claim = await oneIn(it);
  await it.ledger.calls.logCall(claim, begun(claim, text));
  it.ledger.calls.logCallEnd(claim, `${claim.message.id}:1:0`, {
    text,
    outcome: 'done',
    ms: 5,
  });
  assert.equal(await it.ledger.complete(claim, agentEffects(claim, text)), true);
}

function count(db: DatabaseSync, table: string): number {
  return Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()!['n']);
}

const tables = ['notes', 'tool_uses', 'tool_calls'];

test('notes, uses and calls that were forgotten are in none of the files', async () => {
  await inFolder(async (it, _path, folder) => {
    const holds = async (): Promise<readonly string[]> => {
      const files = await readdir(folder);
      const bodies = await Promise.all(files.map((name) => readFile(join(folder, name))));
      return files.filter((_, at) => bodies[at]!.includes(canary));
    };
    await turn(it, 'bob', 'kept');
    await turn(it, 'ann', canary.repeat(300));
    assert.ok((await holds()).length > 0);
    await it.ledger.forget(ofAnn);
    assert.deepEqual(await holds(), []);
    await turn(it, 'ann', `${canary} in the notes alone`);
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'sender of ann' });
    assert.deepEqual(await holds(), []);
  });
});

test('notes that a person clears are in none of the files', async () => {
  await inFolder(async (it, _path, folder) => {
    await accept(it, said('ann', 'hello'));
    const claim = await oneIn(it);
    await it.ledger.complete(claim, { ...agentEffects(claim, canary), toolUses: [] });
    assert.equal(await it.ledger.clearNotes(ofAnn), 1);
    assert.equal(await it.ledger.clearNotes(ofMain), 1);
    for (const name of await readdir(folder)) {
      assert.ok(!(await readFile(join(folder, name))).includes(canary), name);
    }
  });
});

test('notes whose bytes another program kept are overwritten at the second try', async () => {
  await inFolder(
    async (it, path) => {
      await turn(it, 'ann', canary);
      const other = new DatabaseSync(path, { readOnly: true });
      other.exec('BEGIN');
      count(other, 'notes');
      const { ledger } = it;
      await assert.rejects(ledger.clearNotes(ofAnn), NotOverwritten);
      await assert.rejects(ledger.clearNotes(ofAnn), NotOverwritten, 'the bytes are still there');
      other.close();
      assert.equal(await ledger.clearNotes(ofAnn), 0);
      assert.equal((await readFile(`${path}-wal`)).length, 0);
    },
    { readersMs: 0 },
  );
});

test('a call is on the disk before it may run', async () => {
  await inFolder(async (it, path) => {
    await accept(it, said('ann', 'hello'));
    const claim = await oneIn(it);
    const reader = new DatabaseSync(path, { readOnly: true });
    assert.deepEqual(await it.ledger.calls.logCall(claim, begun(claim, 'given')), {
      kind: 'run',
    });
    const { tool, text } = reader.prepare('SELECT tool, text FROM tool_calls').get()!;
    assert.deepEqual([tool, text], ['webhook_call', null]);
    const use = reader.prepare('SELECT outcome, arguments FROM tool_uses').get()!;
    assert.deepEqual([use['outcome'], use['arguments']], ['unknown', 'given']);
    reader.close();
  });
});

test('uses and calls are kept as long as their message, notes until they are deleted', async () => {
  await inFolder(async (it, path) => {
    await turn(it, 'ann', 'one');
    await turn(it, 'ann', 'two');
    await accept(it, said('bob', 'waits'));
    const claim = await oneIn(it);
    await it.ledger.calls.logCall(claim, begun(claim, 'given'));
    await it.ledger[Symbol.asyncDispose]();
    const db = new DatabaseSync(path);
    const counts = (): readonly number[] => tables.map((table) => count(db, table));
    sweep(db, 30, Date.now() + 29 * dayMs);
    assert.deepEqual(counts(), [4, 3, 3]);
    sweep(db, 0, Date.now() + 300 * dayMs);
    assert.deepEqual(counts(), [4, 3, 3], '0 days: for ever');
    sweep(db, 30, Date.now() + 31 * dayMs);
    assert.deepEqual(counts(), [4, 1, 1], 'what was begun for a message that waits stays');
    db.close();
  });
});

test('a dead letter that is discarded takes its calls along', async () => {
  await inFolder(async (it, path) => {
    await accept(it, said('ann', 'hello'));
    const claim = await oneIn(it);
    await it.ledger.calls.logCall(claim, begun(claim, 'given'));
    const why = { kind: 'fault', whose: 'us', retryable: false, detail: '' } as const;
    await it.ledger.deadLetter(claim, { ...why, retryAfterMs: null, status: null });
    const db = new DatabaseSync(path, { readOnly: true });
    assert.equal(count(db, 'tool_calls'), 1);
    assert.equal(await it.ledger.discard(claim.message.id), 'done');
    assert.equal(count(db, 'tool_calls'), 0);
    db.close();
  });
});
