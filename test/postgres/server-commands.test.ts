/** Commands on a database server, with and without a running service on it. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { migrate } from '../../src/ledger/postgres/server/migrations.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere, type Outcome } from '../support/in-process.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { outcomeOf } from '../support/run-svc.ts';

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
  const where = { port, adminPort: await freePort() };
  const document = webhookConfig({ ...where, modelUrl: model.url, receiverUrl: receiver.url });
  const admin = { token_env: 'ADMIN' };
  const storage = { url_env: 'LETTERS_URL' };
  const file = await writeConfig(folder.path, { ...document, admin, storage });
  const env = {
    WEBHOOK_SECRET: secret,
    ADMIN: 'a-token-of-an-operator',
    LETTERS_URL: await newDatabase(),
    HOME: folder.path,
  };
  const run = (line: string): Promise<Outcome> =>
    runCommand(line.split(' '), { cwd: folder.path, env });
  return { folder: folder.path, file, port, env, run, receiver };
}

const skip = { skip: noPostgres };

test('commands use a server beside a running service, and without one', skip, async (t) => {
  const { file, port, env, run, receiver } = await stage(t);
  const early = await run('messages');
  assert.deepEqual([early.code, early.out], [1, '']);
  assert.match(early.err, /made no tables/);
  const before = await run('doctor');
  assert.match(before.out, /✓ database: has no tables of svc yet/, before.err);
  let id = '';
  {
    await using program = await serveHere(file, port, env);
    assert.match(program.log(), /storage_server.*Everything is kept in the database/);
    const answer = await post(program.url, { sender_id: 'ada', text: 'hello' });
    id = String(answer.body['message_id']);
    await receiver.waitFor(1);
    const traced = await run(`trace ${id} --text`);
    assert.equal(traced.code, 0, traced.err);
    assert.match(traced.out, /hello/);
    assert.match((await run('conversations list')).out, /\nwebhook +ada +1 /);
    assert.match((await run('status')).out, /everything in a PostgreSQL database/);
    const doctor = await run('doctor');
    assert.equal(doctor.code, 0, doctor.out);
    assert.match(doctor.out, /✓ owner: a running svc \(\S+\) works on the database/);
    const second = await run('serve');
    assert.equal(second.code, 78, 'it works beside the first, but for the address');
    assert.match(second.err, /bind_failed/);
    const moved = await run('migrate --to other.db --yes');
    assert.deepEqual([moved.code, /in use by another svc/.test(moved.err)], [1, true]);
    const through = await run('conversations delete webhook ada --yes');
    assert.equal(through.code, 0, through.err);
    await post(program.url, { sender_id: 'bob', text: 'hello again' });
    await receiver.waitFor(2);
    await program.stop();
    assert.doesNotMatch(program.log(), new RegExp(RegExp.escape(env.LETTERS_URL)));
  }
  assert.match((await run('doctor')).out, /✓ owner: no svc works on the database/);
  assert.match((await run('conversations list')).out, /\nwebhook +bob +1 /);
  const exported = await run('conversations export webhook bob');
  assert.match(exported.out, /hello again/);
  const itself = await run('conversations delete webhook bob --yes');
  assert.equal(itself.code, 0, itself.err);
  assert.match((await run('conversations list')).out, /No conversations are kept\./);
  assert.match((await run('audit')).out, /delete_conversation|conversation/);
});

test("what a command writes down bears the server's time, not the machine's", skip, async (t) => {
  const { folder, env } = await stage(t);
  const client = await connect(env.LETTERS_URL);
  t.after(() => client.end());
  await migrate(client);
  const anHourAhead = import.meta.resolve('../chaos/many/skewed-clock.ts?ms=3600000');
  const { code, err } = await outcomeOf(['conversations', 'delete', 'webhook', 'nobody', '--yes'], {
    cwd: folder,
    env: { ...env, NODE_OPTIONS: `--import=${anHourAhead}` },
  });
  assert.equal(code, 1, err);
  assert.match(err, /No conversation/);
  const { rows } = await client.query<{ apart: number }>(
    'SELECT (at - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS apart FROM svc.audit',
  );
  assert.equal(rows.length, 1);
  assert.ok(Math.abs(rows[0]!.apart) < 600_000, String(rows[0]!.apart));
});
