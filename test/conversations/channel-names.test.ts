/** Commands find a messenger's people by the name that a person gives the messenger. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import type { ChannelKey } from '../../src/domain/ids.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import { accept, effects, ids, oneIn, said } from '../contract/ledger/kit.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const token = 'an-admin-token-of-the-tests';
const sender = { id: '501', name: 'Ann' };

/** A stopped service that has spoken with ann as each of these bots. */
async function stage(t: TestContext, ...bots: string[]) {
  const folder = await scratch();
  t.after(() => folder[Symbol.asyncDispose]());
  const port = await freePort();
  const nowhere = 'http://127.0.0.1:9';
  const at = { port, adminPort: await freePort(), modelUrl: nowhere, receiverUrl: nowhere };
  const more = { storage: { path: 'svc.db' }, admin: { token_env: 'TEST_ADMIN' } };
  const file = await writeConfig(folder.path, { ...webhookConfig(at), ...more });
  await keep(join(folder.path, 'svc.db'), bots as ChannelKey[]);
  const svc = async (args: string) => {
    const env = { NO_COLOR: '1', TEST_ADMIN: token };
    return runCommand(args.split(' '), { cwd: folder.path, env });
  };
  return { file, port, svc };
}

async function keep(path: string, bots: readonly ChannelKey[]): Promise<void> {
  const ledger = await openSqliteLedger({ path, ...systemClock, ids, retentionDays: 30 });
  if ('kind' in ledger) throw new Error(ledger.message);
  const it = { ledger, reopen: () => Promise.reject(), async [Symbol.asyncDispose]() {} };
  for (const channel of bots) {
    await accept(it, said('ann', `hello, ${channel}`, { channel, sender }));
    const claim = await oneIn(it, channel);
    const scope = { kind: 'conversation' } as const;
    const note = { at: Date.now(), text: `likes ${channel}`, sensitivity: 'public' } as const;
    const notes = [{ kind: 'add', scope, note, notesMax: 9 } as const];
    await ledger.complete(claim, { ...effects(claim, ['hi']), notes });
  }
  await ledger[Symbol.asyncDispose]();
}

for (const name of ['messenger_a', 'telegram', 'messenger_a:77', 'telegram:77']) {
  test(`a messenger is named by its type, its other name, or its bot's key: ${name}`, async (t) => {
    const { svc } = await stage(t, 'messenger_a:77');
    const shown = await svc(`conversations show ${name} ann`);
    assert.match(shown.out, /^messenger_a:77, conversation ann[^]*hello, messenger_a:77/);
    const exported = await svc(`conversations export ${name} --sender 501`);
    assert.match(exported.out, /"sender":"501"/);
    assert.match((await svc(`notes list ${name} ann`)).out, /likes messenger_a:77/);
  });
}

test('a messenger that there is nothing of is named in vain', async (t) => {
  const { svc } = await stage(t, 'messenger_a:77');
  const unknown = await svc('conversations show discord ann');
  assert.deepEqual([unknown.code, unknown.out], [1, '']);
});

test('what is deleted by the name of a messenger is gone, also beside a running svc', async (t) => {
  const { file, port, svc } = await stage(t, 'messenger_a:77');
  await using _program = await serveHere(file, port, { TEST_ADMIN: token });
  assert.equal((await svc('notes clear telegram ann --yes')).out, '1 note deleted\n');
  const deleted = await svc('conversations delete telegram --sender 501 --yes');
  assert.match(deleted.out, /^\d+ messages, replies and turns deleted\n$/);
  const shown = await svc('conversations show messenger_a:77 ann');
  assert.deepEqual([shown.code, shown.out], [1, '']);
});

test('of several bots of a messenger one has to be named', async (t) => {
  const { svc } = await stage(t, 'messenger_b:1', 'messenger_b:2');
  const which = 'Say of which bot: messenger_b:1 or messenger_b:2.\n';
  const deleted = await svc('conversations delete discord ann --yes');
  assert.deepEqual(deleted, { code: 1, out: '', err: which });
  assert.match((await svc('conversations show messenger_b:2 ann')).out, /hello, messenger_b:2/);
});
