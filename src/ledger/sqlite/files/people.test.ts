/** Requests of people on SQLite, checked against the files on the disk. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '../../../lib/clock.ts';
import { approvalOf, asks, decide } from '../../../../test/contract/ledger/approvals.ts';
import {
  accept,
  answer,
  exchange,
  hook,
  oneIn,
  said,
  until,
  effects,
  ids,
} from '../../../../test/contract/ledger/kit.ts';
import { createIdSource, type ConversationId, type ModelName } from '../../../domain/ids.ts';
import { openSqliteLedger } from '../sqlite.ts';

const migration = new URL('./migrations/0001-start.sql', import.meta.url);

async function inFolder(run: (path: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-people-'));
  try {
    await run(join(folder, 'svc.db'), folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function open(path: string, source = ids) {
  const options = { path, ...systemClock, ids: source, retentionDays: 30 };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  return { ledger, reopen: () => Promise.reject(), [Symbol.asyncDispose]: async () => {} };
}

const canary = 'canary-7c1f';
const model = 'local_runtime/b' as ModelName;

/** The files that contain the canary. */
async function filesWithCanary(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await readdir(folder)) {
    if ((await readFile(join(folder, name))).includes(canary)) found.push(name);
  }
  return found;
}

test('what was forgotten is in none of the files', async () => {
  await inFolder(async (path, folder) => {
    const it = await open(path);
    const holds = (): Promise<readonly string[]> => filesWithCanary(folder);
    const long = `${canary} `.repeat(600);
    for (let i = 0; i < 40; i++) {
      await exchange(it, `c${i}`, 'x'.repeat(i * 97), 'kept');
      const sender = { id: canary, name: canary };
      await accept(it, said(`c${i}`, i % 3 === 0 ? long : canary, { sender }));
      const claim = await oneIn(it);
      const unsent = [{ model, text: i % 7 === 0 ? long : canary }];
      const end = effects(claim, [i % 5 === 0 ? long : canary]);
      const asked = [approvalOf(claim, { arguments: i % 4 === 0 ? long : canary })];
      await it.ledger.complete(claim, { ...end, unsent, asked });
      if (i % 2 === 0) await decide(it, asked[0]!, 'refused', canary);
    }
    assert.ok((await holds()).length > 0);
    assert.equal(await it.ledger.forget({ kind: 'sender', channel: hook, sender: canary }), 120);
    assert.deepEqual(await holds(), []);
    await accept(it, said('ann', canary));
    await answer(it, await oneIn(it));
    await asks(it, 'ann', [{ arguments: long }]);
    await it.ledger.forget({
      kind: 'conversation',
      channel: hook,
      conversation: 'ann' as ConversationId,
    });
    assert.deepEqual(await holds(), []);
    await it.ledger[Symbol.asyncDispose]();
  });
});

test('the words of what was forgotten are in none of the files, nor in the index', async () => {
  await inFolder(async (path, folder) => {
    const it = await open(path);
    const holds = async (): Promise<readonly string[]> => {
      const files = await readdir(folder);
      const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'latin1')));
      return files.filter((_, at) => texts[at]!.toLowerCase().includes('canary'));
    };
    const db = new DatabaseSync(path, { readOnly: true });
    const isIndexed = async (): Promise<void> => {
      const unindexed = db.prepare(
        'SELECT count(*) AS n FROM turns, search_state ' +
          'WHERE place > high OR place <= low OR rules = ?',
      );
      await until('all turns are in the index', async () => unindexed.get('')?.['n'] === 0);
    };
    const found = db.prepare('SELECT count(*) AS n FROM search WHERE search MATCH ?');
    for (let i = 0; i < 40; i++) {
      // The index stores most of a word to separate it from its neighbour. The words of others keep
      // that place in use.
      const numbers = Array.from({ length: 100 }, (_, at) => 10_000 + 40 * at + i);
      await exchange(it, `c${i}`, numbers.map((at) => `n${at}dove`).join(' '), 'kept');
      const text = numbers.map((at) => `N${at}canarya n${at}Canaryb`).join(' ');
      await accept(it, said(`c${i}`, text, { sender: { id: 'ann', name: null } }));
      await answer(it, await oneIn(it), i % 5 === 0 ? 'a canary, indeed' : 'yes');
    }
    await isIndexed();
    assert.equal(found.get('canary')?.['n'], 8);
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'ann' });
    assert.deepEqual(await holds(), []);
    assert.equal(found.get('canary OR n10000canarya')?.['n'], 0);
    assert.equal(found.get('n1*')?.['n'], 40, 'the words of others stay');
    db.close();
    await it.ledger[Symbol.asyncDispose]();
  });
});

test('what was kept long enough is in none of the files', async () => {
  await inFolder(async (path, folder) => {
    const it = await open(path);
    for (const text of [canary, canary, 'stays, since it is the newest']) {
      const unsent = [{ model, text }];
      await accept(it, said('ann', text));
      const claim = await oneIn(it);
      await it.ledger.complete(claim, { ...effects(claim, [], { turn: null }), unsent });
    }
    await it.ledger[Symbol.asyncDispose]();
    assert.deepEqual(await filesWithCanary(folder), ['svc.db']);
    const db = new DatabaseSync(path);
    db.exec(`UPDATE inbox SET settled_at = ${Date.now() - 31 * 86_400_000}`);
    const { ledger } = await open(path);
    const count = (): unknown => db.prepare('SELECT count(*) AS n FROM inbox').get()!['n'];
    while (count() !== 1) await new Promise(setImmediate);
    db.close();
    await ledger[Symbol.asyncDispose]();
    assert.deepEqual(await filesWithCanary(folder), []);
  });
});

test('a database of the first schema keeps its messages, and learns who said what', async () => {
  await inFolder(async (path) => {
    const db = new DatabaseSync(path);
    db.exec(await readFile(migration, 'utf8'));
    db.exec('PRAGMA application_id = 0x73766331; PRAGMA user_version = 1');
    const sender = JSON.stringify({ sender: { id: 'ann', name: null }, text: 'hi', media: null });
    const body = sender.replace(/}$/, ',"target":"t"}');
    const insert = 'INSERT INTO inbox (seq, id, channel, conversation, accepted_at, body, state)';
    const [first, second, reply] = [ids.message(), ids.message(), ids.reply()];
    const add = db.prepare(`${insert} VALUES (?, ?, 'webhook', 'c', 1, ?, ?)`);
    add.run(1, first, body, 1);
    add.run(3, second, body, 0);
    const replyBody = JSON.stringify({
      inReplyTo: first,
      brain: 'main',
      text: 'a',
      sessionStarted: null,
      target: 't',
    });
    db.prepare(
      'INSERT INTO outbox (seq, id, channel, conversation, created_at, body, late, due_at) ' +
        "VALUES (2, ?, 'webhook', 'c', 1, ?, 1, 1)",
    ).run(reply, replyBody);
    db.exec("INSERT INTO turns VALUES ('webhook', 'c', 1, 1, 1, 'hi', 'a')");
    db.exec("INSERT INTO conversations VALUES ('webhook', 'c', 1, 1, 1)");
    db.exec(`INSERT INTO traces VALUES ('${first}', '{}')`);
    db.exec(`INSERT INTO dedupe VALUES ('webhook', 'k', '${first}', 9e12)`);
    db.exec("INSERT INTO cursors VALUES ('webhook', 'n', '7')");
    db.close();

    const it = await open(path);
    const claim = await oneIn(it);
    assert.deepEqual([claim.message.id, claim.memory.turns.length], [second, 1]);
    assert.equal(await it.ledger.cursor(hook, 'n'), '7');
    const [again] = await accept(it, said('c', 'hi', { dedupeKey: 'k' }));
    assert.deepEqual([again!.id, again!.duplicate], [first, true]);
    await it.ledger[Symbol.asyncDispose]();
    const after = new DatabaseSync(path);
    assert.equal(after.prepare('SELECT sender FROM turns').get()!['sender'], 'ann');
    const row = after.prepare('SELECT message_id, parked FROM outbox').get()!;
    assert.deepEqual([row['message_id'], row['parked']], [first, 1]);
    after.close();
  });
});

test('ids go on where they were, also when the clock was set back between two starts', async () => {
  await inFolder(async (path) => {
    const random = (bytes: Uint8Array): void => void bytes.fill(7);
    const ahead = await open(
      path,
      createIdSource(() => 2_000_000_000_000, random),
    );
    const [first] = await accept(ahead, said('ann', 'one'));
    await ahead.ledger[Symbol.asyncDispose]();
    const back = await open(
      path,
      createIdSource(() => 1_000_000_000_000, random),
    );
    const [second] = await accept(back, said('bob', 'two'));
    assert.ok(second!.id > first!.id, `${second!.id} after ${first!.id}`);
    await back.ledger[Symbol.asyncDispose]();
  });
});
