/** Replaying, discarding and deleting: on a stopped service, and through a running one. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import type { Story } from '../../src/domain/story.ts';
import { adminToken } from '../fake/admin-api.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { type Outcome, runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const env = { TEST_ADMIN: adminToken };

async function stage(t: TestContext) {
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
  const more = { storage: { path: 'svc.db' }, admin: { token_env: 'TEST_ADMIN' } };
  const file = await writeConfig(folder.path, { ...webhookConfig(at), ...more });
  const svc = async (args: string): Promise<Outcome> => {
    return runCommand(args.split(' '), { cwd: folder.path, env });
  };
  return { folder: folder.path, file, port, receiver, svc };
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** Sends a message, and waits until its reply has this state. @returns the reply's id */
async function say(on: Stage, url: string, text: string, state: string): Promise<string> {
  const { body } = await post(url, { sender_id: 'ada', conversation_id: 7, text });
  return until(`a reply that is ${state}`, async () => {
    const { out } = await on.svc(`trace ${String(body['message_id'])} --json`);
    const [reply] = (JSON.parse(out) as Story).replies;
    return reply?.state === state ? reply.id : null;
  });
}

/** A stopped service with a dead letter. @returns its id */
async function withDeadLetter(on: Stage): Promise<string> {
  on.receiver.script.push(410);
  await using program = await serveHere(on.file, on.port, env);
  const id = await say(on, program.url, 'unwanted', 'dead');
  assert.equal(await program.stop(), 0);
  return id;
}

test('what is replayed while svc is stopped goes out at its next start, marked late', async (t) => {
  const on = await stage(t);
  const id = await withDeadLetter(on);
  const moved = await on.svc(`dead-letters replay ${id}`);
  assert.deepEqual(moved, { code: 0, out: `${id} will be tried again\n`, err: '' });
  assert.equal((await on.svc('dead-letters list')).out, 'There are no dead letters.\n');
  await using _program = await serveHere(on.file, on.port, env);
  const [first, again] = await on.receiver.waitFor(2);
  assert.equal(first!.headers['webhook-id'], id);
  assert.equal(again!.headers['webhook-id'], id);
  assert.equal(again!.headers['svc-late'], 'true');
});

test('a stopped svc does not replay a letter of the completions API, but the others', async (t) => {
  const on = await stage(t);
  const id = await withDeadLetter(on);
  using database = new DatabaseSync(join(on.folder, 'svc.db'));
  database.exec("UPDATE outbox SET channel = 'completions'");
  const { code, out, err } = await on.svc(`dead-letters replay ${id} nope`);
  assert.deepEqual([code, out], [1, '']);
  const refused = `${id} can only be discarded: no client waits for it.\n`;
  assert.equal(err, `${refused}nope is no dead letter that is known here.\n`);
  assert.match((await on.svc('dead-letters list')).out, /^1 dead letter\n/);
});

/** A receiver's refusal that asks for an hour. */
const later = { status: 503, headers: { 'retry-after': '3600' } };

test('what is to be tried now while svc is stopped goes out at its next start', async (t) => {
  const on = await stage(t);
  on.receiver.script.push(later);
  let id = '';
  {
    await using program = await serveHere(on.file, on.port, env);
    const said = say(on, program.url, 'wanted', 'waiting');
    await on.receiver.waitFor(1);
    id = await said;
    assert.equal(await program.stop(), 0);
  }
  const tried = await on.svc(`deliveries try ${id}`);
  assert.deepEqual(tried, { code: 0, out: `${id} is tried now\n`, err: '' });
  const twice = await on.svc(`deliveries try ${id}`);
  assert.deepEqual([twice.code, twice.out], [1, '']);
  assert.match((await on.svc('audit')).out, /try_delivery/);
  await using _program = await serveHere(on.file, on.port, env);
  const [first, again] = await on.receiver.waitFor(2);
  assert.deepEqual([first!.headers['webhook-id'], again!.headers['webhook-id']], [id, id]);
  assert.equal(again!.headers['svc-attempt'], '2');
});

test('all that wait are tried now by the svc that runs', async (t) => {
  const on = await stage(t);
  on.receiver.script.push(later, later);
  await using program = await serveHere(on.file, on.port, env);
  for (const who of [7, 8]) {
    await post(program.url, { sender_id: 'ada', conversation_id: who, text: 'wanted' });
  }
  await on.receiver.waitFor(2);
  assert.equal(
    (await on.svc('deliveries try --all --channel telegram')).out,
    '0 replies are tried now\n',
  );
  let out = '';
  for (let checks = 0; on.receiver.received.length < 4 && checks < 500; checks++) {
    out += (await on.svc('deliveries try --all --channel webhook')).out;
  }
  assert.match(out, /(2 replies are|1 reply is) tried now/);
  assert.equal((await on.receiver.waitFor(4)).length, 4);
  for (const [args, words] of [
    ['deliveries try', /Say which ones/],
    ['deliveries try --all x', /exclude each other/],
    ['deliveries try x --channel webhook', /goes with --all/],
    ['deliveries try --all --channel Slack', /channel is one of/],
  ] as const) {
    const { code, err } = await on.svc(args);
    assert.equal(code, 2);
    assert.match(err, words);
  }
});

test('all are replayed in the order in which they died', async (t) => {
  const on = await stage(t);
  const ids = [await withDeadLetter(on), await withDeadLetter(on)];
  const { out } = await on.svc('dead-letters replay --all');
  assert.equal(out, ids.map((id) => `${id} will be tried again\n`).join(''));
});

test('what is replayed while svc runs goes out at once, by its own hand', async (t) => {
  const on = await stage(t);
  on.receiver.script.push(410);
  await using program = await serveHere(on.file, on.port, env);
  const id = await say(on, program.url, 'unwanted', 'dead');
  const moved = await on.svc('dead-letters replay --all --reason gone');
  assert.deepEqual(moved, { code: 0, out: `${id} will be tried again\n`, err: '' });
  const [, again] = await on.receiver.waitFor(2);
  assert.equal(again!.headers['webhook-id'], id);
});

test('what is discarded is gone, and an unknown id is told', async (t) => {
  const on = await stage(t);
  const id = await withDeadLetter(on);
  const moved = await on.svc(`dead-letters discard ${id} nope`);
  assert.deepEqual(moved, {
    code: 1,
    out: `${id} is deleted\n`,
    err: 'nope is no dead letter that is known here.\n',
  });
  const shown = await on.svc(`dead-letters show ${id}`);
  assert.equal(shown.err, 'No dead letter with this id is known here (kept for 30 days).\n');
});

for (const running of [true, false]) {
  const form = running ? 'runs' : 'is stopped';

  test(`a conversation is deleted from every file while svc ${form}`, async (t) => {
    const on = await stage(t);
    const words = 'the-words-that-nobody-may-read';
    await using program = await serveHere(on.file, on.port, env);
    await say(on, program.url, words, 'delivered');
    if (!running) assert.equal(await program.stop(), 0);
    const { code, out, err } = await on.svc('conversations delete webhook 7 --yes');
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /^\d+ messages, replies and turns deleted\n$/);
    assert.equal((await on.svc('conversations list')).out, 'No conversations are kept.\n');
    const again = await on.svc('conversations delete webhook --sender ada --yes');
    assert.deepEqual([again.code, again.out], [1, '']);
    for (const name of await readdir(on.folder)) {
      const bytes = await readFile(join(on.folder, name));
      assert.equal(bytes.includes(words), false, name);
    }
  });
}
