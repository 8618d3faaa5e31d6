/** The commands about messages with storage, with and without a running service. */
import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import type { Story } from '../../src/domain/story.ts';
import { adminToken, startFakeAdmin } from '../fake/admin-api.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { type Outcome, runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { letter } from '../support/stories.ts';
import { until } from '../support/waiting.ts';

async function stage(t: TestContext) {
  const folder = await scratch();
  const model = await startFakeOllama();
  const receiver = await startReceiver();
  t.after(async () => {
    await receiver[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const port = await freePort();
  const adminPort = await freePort();
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = { ...webhookConfig(at), storage: { path: 'svc.db' } };
  const file = await writeConfig(folder.path, document);
  const svc = async (args: string, env: Record<string, string> = {}): Promise<Outcome> => {
    return runCommand(args.split(' '), { cwd: folder.path, env: { NO_COLOR: '1', ...env } });
  };
  return { folder: folder.path, file, document, port, receiver, svc };
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** Returns the message's story once its replies are settled. */
async function settled({ svc }: Stage, id: string): Promise<Story> {
  return until('the reply is settled', async () => {
    const { code, out } = await svc(`trace ${id} --json`);
    assert.equal(code, 0);
    const story = JSON.parse(out) as Story;
    const [reply] = story.replies;
    return reply !== undefined && reply.settledAt !== null ? story : null;
  });
}

/** Runs the service, sends these messages of ada, and stops it; returns the messages' ids. */
async function exchange(on: Stage, ...texts: string[]): Promise<readonly string[]> {
  await using program = await serveHere(on.file, on.port);
  const ids: string[] = [];
  for (const text of texts) {
    const { body } = await post(program.url, { sender_id: 'ada', conversation_id: 7, text });
    ids.push(String(body['message_id']));
    await settled(on, ids.at(-1)!);
  }
  assert.equal(await program.stop(), 0);
  return ids;
}

test('a message’s story is the same while svc runs and when it has stopped', async (t) => {
  const on = await stage(t);
  let id = '';
  let running = '';
  {
    await using program = await serveHere(on.file, on.port);
    const answer = await post(program.url, { sender_id: 'ada', text: 'hello\u001B[2J' });
    id = String(answer.body['message_id']);
    const story = await settled(on, id);
    assert.deepEqual([story.state, story.replies[0]!.state], ['answered', 'delivered']);
    running = (await on.svc(`trace ${id}`)).out;
    assert.equal(await program.stop(), 0);
  }
  const { code, out, err } = await on.svc(`trace ${id}`);
  assert.deepEqual([code, out, err], [0, running, '']);
  assert.match(
    out,
    /: answered by llama3\.2 .*; delivered\n(.*\n)* +\d+ +\d+ +llama3\.2 \(Ollama\): answer/,
  );
  assert.doesNotMatch(out, /hello/);
  const trace = await on.svc(`trace ${id} --text`);
  assert.match(trace.out, /\nada:\n {2}hello\[2J\n/);
  const unknown = await on.svc('trace 0000000000000000000000');
  assert.deepEqual(unknown, {
    code: 1,
    out: '',
    err: 'No message with this id is known here (kept for 30 days).\n',
  });
});

test('conversations are listed, shown and exported from the database', async (t) => {
  const on = await stage(t);
  await exchange(on, 'one', 'two');
  const list = await on.svc('conversations list');
  assert.match(
    list.out,
    /^channel {2}conversation {2}turns .*\nwebhook {2}7 {17}2 {9}1 {8}0 {2}20/,
  );
  const show = await on.svc('conversations show webhook 7');
  assert.match(show.out, /^webhook, conversation 7: 2 turns in 1 session\n/);
  assert.match(
    show.out,
    / {2}ada, session 1 of 7\n {2}one\nreply by llama3\.2 .*\n {2}\S.*\n\n.*\n {2}two\nreply by /,
  );
  const json = JSON.parse((await on.svc('conversations show webhook 7 --json --limit 1')).out);
  assert.deepEqual([json.conversation.turns, json.rows.length, typeof json.next], [2, 1, 'string']);
  const lines = (await on.svc('conversations export webhook --sender ada')).out.split('\n');
  assert.deepEqual(
    lines.slice(0, -1).map((line) => (JSON.parse(line) as { text: string }).text),
    ['one', 'two'],
  );
});

test('messages are found by their words while svc runs and when it has stopped', async (t) => {
  const on = await stage(t);
  let id = '';
  {
    await using program = await serveHere(on.file, on.port);
    const said = { sender_id: 'ada', conversation_id: 7, text: 'a Päckchen\u001B[2J is lost' };
    id = String((await post(program.url, said)).body['message_id']);
    await settled(on, id);
    assert.match((await on.svc('search packchen lost')).out, new RegExp(id));
    assert.equal(await program.stop(), 0);
  }
  const { code, out, err } = await on.svc('search packchen lost');
  assert.deepEqual([code, err], [0, '']);
  assert.match(
    out,
    new RegExp(`${id}\\n {2}webhook, conversation 7, ada\\n {2}a Päckchen\\[2J is`),
  );
  assert.equal((await on.svc('search parcel')).out, 'Nothing was found.\n');
  const json = JSON.parse((await on.svc('search pack --json')).out);
  assert.deepEqual([json.rows.length, json.next], [1, null]);
  {
    using db = new DatabaseSync(join(on.folder, 'svc.db'));
    db.exec("UPDATE turns SET channel = 'messenger_a:42'");
  }
  const { out: named } = await on.svc('search pack');
  assert.match(named, /^ {2}Telegram \(bot 42\), conversation 7, ada$/m);
  const wrong = await on.svc('search');
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /the words are missing/);
});

test('an export of 1,000 turns is complete and in order', async (t) => {
  const on = await stage(t);
  await exchange(on, 'first');
  {
    using db = new DatabaseSync(join(on.folder, 'svc.db'));
    const insert = db.prepare(
      'INSERT INTO turns (channel, conversation, session, seq, at, text, reply, sender) ' +
        "VALUES ('webhook', 'long', ?, ?, ?, ?, ?, 'bob')",
    );
    db.exec('BEGIN');
    for (let n = 0; n < 1_000; n++) {
      insert.run(1 + Math.floor(n / 400), 1_000 + n, n, `text ${n}`, `${n}`.repeat(500));
    }
    db.exec('COMMIT');
  }
  for (const whose of ['long', '--sender bob']) {
    const { code, out, err } = await on.svc(`conversations export webhook ${whose}`);
    assert.deepEqual([code, err], [0, '']);
    const texts = out.split('\n').slice(0, -1);
    assert.equal(texts.length, 1_000);
    for (const [n, line] of texts.entries()) {
      assert.equal((JSON.parse(line) as { text: string }).text, `text ${n}`);
    }
  }
});

test('a reply that died is listed, shown, and traced by its own id', async (t) => {
  const on = await stage(t);
  on.receiver.script.push(410);
  const [id] = await exchange(on, 'unwanted');
  const list = await on.svc('dead-letters list --json');
  const { reasons, rows } = JSON.parse(list.out) as {
    reasons: { kind: string; count: number }[];
    rows: { id: string; messageId: string }[];
  };
  assert.deepEqual(
    reasons.map(({ kind, count }) => [kind, count]),
    [['gone', 1]],
  );
  assert.equal(rows[0]!.messageId, id);
  const shown = await on.svc(`dead-letters show ${rows[0]!.id}`);
  assert.match(
    shown.out,
    /: a reply\nwebhook, conversation 7, message .*\n(.*\n)*gone .*\(operator\)/,
  );
  const traced = await on.svc(`trace ${rows[0]!.id}`);
  const ending = 'answered by llama3.2 (Ollama); not delivered: the receiver answers 410, given up';
  assert.equal(traced.out.split('\n')[0], `message ${id}: ${ending}`);
});

test('while a service holds the database, writes go through it', async (t) => {
  const on = await stage(t);
  await using admin = await startFakeAdmin();
  admin.rows.letters.push(letter(10));
  const through = join(on.folder, 'through.json');
  const beside = {
    ...on.document,
    observability: { addr: `127.0.0.1:${admin.port}` },
    admin: { token_env: 'TEST_ADMIN' },
  };
  await writeFile(through, JSON.stringify(beside));
  await using _program = await serveHere(on.file, on.port);
  const replay = `dead-letters replay ${letter(10).id}`;
  const env = { TEST_ADMIN: adminToken };
  const { code, out, err } = await on.svc(`${replay} --config through.json`, env);
  assert.deepEqual([code, out, err], [0, `${letter(10).id} will be tried again\n`, '']);
  assert.deepEqual(admin.rows.letters, []);
  const closed = await on.svc(replay);
  assert.deepEqual([closed.code, closed.out], [1, '']);
  assert.match(closed.err, /^While svc runs, only it can write .*: add "admin": .* to svc\.json, /);
  const unset = await on.svc(`${replay} --config through.json`);
  assert.match(unset.err, /set TEST_ADMIN here to what the service was started with\.\n$/);
});

test('where no database is yet, reading and writing say so and make none', async (t) => {
  const on = await stage(t);
  for (const args of ['trace x', 'dead-letters list', 'conversations delete webhook x --yes']) {
    const { code, out, err } = await on.svc(args);
    assert.deepEqual([code, out], [1, ''], args);
    assert.match(err, /There is no database .*svc\.db/);
  }
  assert.deepEqual(await readdir(on.folder), ['svc.json']);
});
