/** `svc messages` and `svc audit`: from the database, and from a running svc. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { formatDuration } from '../../src/cli/ledger/table.ts';
import type { AuditRow } from '../../src/domain/audit.ts';
import type { Page } from '../../src/domain/page.ts';
import type { MessageRow } from '../../src/domain/records.ts';
import { adminToken } from '../fake/admin-api.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { type Outcome, runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const env = { TEST_ADMIN: adminToken };

async function stage(t: TestContext, more: Record<string, unknown>) {
  const folder = await scratch();
  const model = await startFakeOllama();
  const receiver = await startReceiver();
  t.after(async () => {
    await receiver[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const admin = { token_env: 'TEST_ADMIN' };
  const file = await writeConfig(folder.path, { ...webhookConfig(at), admin, ...more });
  const svc = async (...args: string[]): Promise<Outcome> => {
    return runCommand(args, { cwd: folder.path, env });
  };
  const rows = async (...args: string[]): Promise<readonly MessageRow[]> => {
    const { code, out, err } = await svc('messages', '--json', ...args);
    assert.deepEqual([code, err], [0, '']);
    return (JSON.parse(out) as Page<MessageRow>).rows;
  };
  const api = (method: string, path: string): Promise<Response> => {
    const headers = { authorization: `Bearer ${adminToken}` };
    return fetch(`http://127.0.0.1:${adminPort}/api/v1/${path}`, { method, headers });
  };
  return { file, port, receiver, svc, rows, api };
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** Sends a message, and waits until no reply to it waits. @returns the message's id */
async function say({ rows }: Stage, url: string, text: string): Promise<string> {
  const { body } = await post(url, { sender_id: 'ada', conversation_id: 'c7', text });
  await until('no reply that waits', async () => {
    const [row] = await rows('--limit', '1');
    return row?.state === 'answered' && row.replies.waiting === 0;
  });
  return String(body['message_id']);
}

for (const storage of [{ path: 'svc.db' }, undefined]) {
  const form = storage === undefined ? 'without' : 'with';

  test(`${form} storage, what went through is listed, and what an operator did`, async (t) => {
    const on = await stage(t, storage === undefined ? {} : { storage });
    await using program = await serveHere(on.file, on.port, env);
    const first = await say(on, program.url, 'hello');
    on.receiver.script.push(410);
    const second = await say(on, program.url, 'unwanted');
    const [newer, older] = await on.rows();
    assert.deepEqual([newer?.id, newer?.replies.dead, newer?.totalMs], [second, 1, null]);
    assert.deepEqual([older?.id, older?.outcome, older?.brain], [first, 'reply', 'echo']);
    assert.match(older!.model!, /^local_runtime\//);
    assert.ok(typeof older?.totalMs === 'number');
    const page = await on.svc('messages', '--limit=1');
    assert.match(page.out, /^id +channel +brain +accepted .*\n\w{22} +webhook +echo .* 0 of 1\n$/);
    assert.match(page.err, /^There is more: --after=[\w-]+\n$/);
    const rest = await on.svc('messages', page.err.trim().split(' ').at(-1)!);
    assert.match(
      rest.out,
      new RegExp(`\\n${first} .* 1 of 1 +${formatDuration(older.totalMs)}\\n$`),
    );
    assert.deepEqual(await on.rows('--outcome=reply', '--brain=echo', '--since=1h'), [
      newer,
      older,
    ]);
    const unknown = await on.svc('messages', '--brain=ecco');
    assert.deepEqual(unknown, {
      code: 0,
      out: 'There are no such messages.\n',
      err: 'svc.json has no brain "ecco"; it has echo.\n',
    });
    assert.deepEqual(await on.rows('--channel=telegram'), []);
    assert.deepEqual(await on.rows('--until=2020-01-01'), []);
    assert.equal((await on.svc('messages', '--state=dead')).out, 'There are no such messages.\n');

    const deliveries = await (await on.api('GET', 'deliveries?state=dead')).json();
    const [dead] = (deliveries as Page<{ id: string; message: string }>).rows;
    assert.equal(dead?.message, second);
    const path = `dead-letters/${dead.id}/discard`;
    const status = storage === undefined ? 409 : 200;
    assert.equal((await on.api('POST', `${path}?reason=a%20duplicate`)).status, status);
    const told = await on.svc('audit');
    const line = `discard +${status} +id ${dead.id} +a duplicate\n$`;
    assert.match(told.out, new RegExp(`^at .*\\n[-\\d]+ [:\\d]+ +${line}`));
    assert.equal(await program.stop(), 0);
  });
}

test('what is changed while svc is stopped is in the audit as well', async (t) => {
  const on = await stage(t, { storage: { path: 'svc.db' } });
  {
    await using program = await serveHere(on.file, on.port, env);
    await say(on, program.url, 'hello');
    assert.equal(await program.stop(), 0);
  }
  assert.equal((await on.svc('audit')).out, 'No operator has changed anything.\n');
  await on.svc('dead-letters', 'discard', 'nope', '--reason', 'of no use');
  await on.svc('conversations', 'delete', 'webhook', 'c7', '--yes');
  await on.svc('pair', 'ABCDEFGH');
  const { rows } = JSON.parse((await on.svc('audit', '--json')).out) as Page<AuditRow>;
  assert.deepEqual(
    rows.map(({ action, target, status, reason }) => [action, target, status, reason]),
    [
      ['pair', { code: 'ABCDEFGH' }, 404, null],
      ['forget_conversation', { channel: 'webhook', conversation: 'c7' }, 200, null],
      ['discard', { id: 'nope' }, 404, 'of no use'],
    ],
  );
  const counts = await on.rows();
  assert.deepEqual(counts, [], 'the message went with its conversation');
});

test('a write that was answered is in the audit, also when svc dies right after', async (t) => {
  const on = await stage(t, { storage: { path: 'svc.db' } });
  await using program = await serve(on.file, on.port, env);
  const { status } = await on.api('POST', 'dead-letters/nope/replay');
  program.child.kill('SIGKILL');
  assert.equal(status, 404);
  await program.ended;
  assert.match((await on.svc('audit')).out, /\n.* replay +404 +id nope\n$/);
});

test('what cannot be listed is told, with 2, before anything is read', async (t) => {
  const on = await stage(t, {});
  const wrong: Readonly<Record<string, RegExp>> = {
    '--state=answerd': /There is no state "answerd"\. Did you mean answered\?/,
    '--outcome=lost': /There is no outcome "lost"\. It is one of reply, command/,
    '--channel=Slack': /--channel is one of .*, completions, the name that a channel has, or a bot/,
    '--since=yesterday': /--since is a time such as 2h, .* "yesterday" is none/,
    '--until=2026-13-45': /--until is a time/,
    '--limit=0': /--limit is a number from 1/,
    '--after=junk': /--after is what the list before ended with; "junk" is no such thing/,
    '--brains=x': /Did you mean --brain\?/,
  };
  for (const [flag, pattern] of Object.entries(wrong)) {
    const { code, out, err } = await on.svc('messages', flag);
    assert.deepEqual([code, out], [2, ''], flag);
    assert.match(err, pattern);
  }
  const long = await on.svc('dead-letters', 'discard', 'x', '--reason', 'x'.repeat(201));
  assert.deepEqual([long.code, long.out], [2, '']);
  assert.match(long.err, /--reason is at most 200 characters long/);
});
