/** How a person sees and deletes an agent's notes at the terminal. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import { accept, effects, ids, oneIn, said } from '../contract/ledger/kit.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const token = 'an-admin-token-of-the-tests';

async function stage(t: TestContext) {
  const folder = await scratch();
  t.after(() => folder[Symbol.asyncDispose]());
  const port = await freePort();
  const nowhere = 'http://127.0.0.1:9';
  const at = { port, adminPort: await freePort(), modelUrl: nowhere, receiverUrl: nowhere };
  const document = {
    ...webhookConfig(at),
    storage: { path: 'svc.db' },
    admin: { token_env: 'TEST_ADMIN' },
  };
  const file = await writeConfig(folder.path, document);
  await keepNotes(join(folder.path, 'svc.db'));
  const svc = async (args: string) => {
    const env = { NO_COLOR: '1', TEST_ADMIN: token };
    return runCommand(args.split(' '), { cwd: folder.path, env });
  };
  return { file, port, svc };
}

/** Stores two notes of a conversation, and one of a brain. */
async function keepNotes(path: string): Promise<void> {
  const ledger = await openSqliteLedger({ path, ...systemClock, ids, retentionDays: 30 });
  if ('kind' in ledger) throw new Error(ledger.message);
  const it = { ledger, reopen: () => Promise.reject(), async [Symbol.asyncDispose]() {} };
  await accept(it, said('ann', 'hello'));
  const claim = await oneIn(it);
  const add = (text: string, scope: { kind: 'conversation' } | { kind: 'brain'; brain: string }) =>
    ({
      kind: 'add',
      scope,
      note: { at: Date.now(), text, sensitivity: 'public' },
      notesMax: 9,
    }) as const;
  const here = { kind: 'conversation' } as const;
  const notes = [
    add('likes tea', here),
    add('red\u001B[31m\nnext', here),
    add('of all', { kind: 'brain', brain: 'main' }),
  ];
  await ledger.complete(claim, { ...effects(claim, []), notes });
  await ledger[Symbol.asyncDispose]();
}

test('notes are listed and cleared while svc is stopped', async (t) => {
  const { svc } = await stage(t);
  const list = await svc('notes list webhook ann');
  assert.equal(list.code, 0);
  assert.match(list.out, /^[-\d]+ [:\d]+\n {2}likes tea\n[-\d]+ [:\d]+\n {2}red\[31m\n {2}next\n$/);
  const brain = await svc('notes list --brain main');
  assert.match(brain.out, /^[-\d]+ [:\d]+ {2}webhook, ann\n {2}of all\n$/);
  const shown = await svc('conversations show webhook ann');
  assert.match(shown.out, /\nnotes\n {2}likes tea\n {2}red\[31m\n {2}next\n\n/);
  const json = JSON.parse((await svc('conversations show webhook ann --json')).out) as {
    readonly notes: readonly { readonly text: string }[];
  };
  assert.equal(json.notes[0]?.text, 'likes tea');
  assert.deepEqual(await svc('notes clear webhook ann --yes'), {
    code: 0,
    out: '2 notes deleted\n',
    err: '',
  });
  assert.deepEqual((await svc('notes list webhook ann')).out, 'There are no notes.\n');
  assert.deepEqual(await svc('notes clear webhook ann --yes'), {
    code: 0,
    out: 'There are no notes.\n',
    err: '',
  });
  assert.match((await svc('notes list --brain main')).out, /of all/);
});

test('while svc runs, clearing goes through it', async (t) => {
  const { file, port, svc } = await stage(t);
  await using _program = await serveHere(file, port, { TEST_ADMIN: token });
  const cleared = await svc('notes clear --brain main --yes');
  assert.deepEqual([cleared.code, cleared.out, cleared.err], [0, '1 note deleted\n', '']);
  assert.equal((await svc('notes list --brain main')).out, 'There are no notes.\n');
  assert.match((await svc('notes list webhook ann')).out, /likes tea/);
});
