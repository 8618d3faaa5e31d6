/** `svc migrate`: its questions, refusals, output, and the files that it leaves unchanged. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { closedPort } from '../fake/closed-port.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { runCommand, serveHere, startCommand, type Outcome } from '../support/in-process.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';

const nowhere = `http://127.0.0.1:${closedPort}`;

async function stage(t: TestContext, storage: object | null = { path: 'svc.db' }) {
  const folder = await scratch();
  t.after(() => folder[Symbol.asyncDispose]());
  const port = await freePort();
  const where = { port, adminPort: await freePort(), modelUrl: nowhere, receiverUrl: nowhere };
  const file = await writeConfig(folder.path, { ...webhookConfig(where), storage });
  const env = { WEBHOOK_SECRET: secret, HOME: folder.path };
  const run = (line: string, more: Record<string, string> = {}): Promise<Outcome> =>
    runCommand(line.split(' '), { cwd: folder.path, env: { ...env, ...more } });
  const runService = async (during = async (): Promise<void> => {}): Promise<void> => {
    await using program = await serveHere(file, port);
    await post(program.url, { sender_id: 'ada', text: 'hello' });
    await during();
    await program.stop();
  };
  return { folder: folder.path, env, run, runService };
}

test('a file is copied to a server and back, and it is told', { skip: noPostgres }, async (t) => {
  const { folder, run, runService } = await stage(t);
  await runService();
  const url = await newDatabase();
  const there = await run('migrate --to LETTERS_URL --yes', { LETTERS_URL: url });
  assert.equal(there.code, 0, there.err);
  assert.match(there.out, /^table +rows +digest\nmessages +1 +[0-9a-f]{32}\n/);
  assert.match(there.err, /write "url_env":"LETTERS_URL" into the storage block of svc\.json/);
  const where = { port: 1, adminPort: 2, modelUrl: nowhere, receiverUrl: nowhere };
  await writeConfig(folder, { ...webhookConfig(where), storage: { url_env: 'LETTERS_URL' } });
  const back = await run('migrate --to back.db --yes', { LETTERS_URL: url });
  assert.deepEqual([back.code, back.out], [0, there.out], back.err);
  assert.match(back.err, /"path":"[^"]+back\.db"/);
  assert.ok(existsSync(join(folder, 'back.db')));
});

test('beside a running service nothing is copied', async (t) => {
  const { folder, run, runService } = await stage(t);
  await runService(async () => {
    const { code, out, err } = await run('migrate --to other.db --yes');
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /in use by another svc.* Stop that one/);
  });
  assert.ok(!existsSync(join(folder, 'other.db')));
});

test('a person is asked first, with what would be copied', async (t) => {
  const { folder, env, run, runService } = await stage(t);
  await runService();
  const asked = await run('migrate --to other.db');
  assert.equal(asked.code, 2);
  assert.match(asked.err, /There is no terminal to ask at: say --yes to copy/);
  for (const [word, code] of [
    ['no', 1],
    ['yes', 0],
  ] as const) {
    const words = ['migrate', '--to', 'other.db'];
    await using command = startCommand(words, { cwd: folder, env, terminal: true });
    await command.until(/Copy \d+ rows?, 1 message among them, into the database .+other\.db\?/);
    command.input.write(`${word}\n`);
    assert.equal(await command.ended, code, command.out());
    assert.equal(/Nothing was copied/.test(command.out()), word === 'no');
    assert.equal(existsSync(join(folder, 'other.db')), word === 'yes');
  }
});

test('what cannot be a place is refused, and a URL is not repeated', async (t) => {
  const { run, runService } = await stage(t);
  await runService();
  const env = { LETTERS_URL: `postgres://ada:canary@127.0.0.1:${closedPort}/letters` };
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ['', 2, /Say where to: --to/],
    [' --to postgres://ada:canary@h/d', 2, /A URL is never given as an argument/],
    [' --to svc.db', 2, /names the database that is in use already/],
    [' --to ./svc.json', 1, /There is a file .+svc\.json already/],
    [` --to ./${'n'.repeat(300)}`, 1, /^No file can be made in .+ \(ENAMETOOLONG\)/],
    [' --to NO_SUCH_URL', 78, /NO_SUCH_URL is not set/],
    [' --to WEBHOOK_SECRET', 78, /the value of WEBHOOK_SECRET is no URL of a PostgreSQL server/],
    [' --to LETTERS_URL', 1, new RegExp(`127\\.0\\.0\\.1:${closedPort}`)],
  ];
  for (const [flags, code, told] of cases) {
    const outcome = await run(`migrate${flags} --yes`, env);
    assert.deepEqual([outcome.code, outcome.out], [code, ''], flags);
    assert.match(outcome.err, told);
    assert.doesNotMatch(outcome.err, /canary/);
  }
});

test('without storage, and before svc ran, there is nothing to copy', async (t) => {
  const none = await (await stage(t, null)).run('migrate --to other.db --yes');
  assert.deepEqual([none.code, /svc\.json has no storage block/.test(none.err)], [1, true]);
  const early = await (await stage(t)).run('migrate --to other.db --yes');
  assert.equal(early.code, 1);
  assert.match(early.err, /There is no database/);
});
