/** Storage on a database server: the server is away, and no output shows its URL. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { closedPort } from '../fake/closed-port.ts';
import { runCommand, type Outcome } from '../support/in-process.ts';
import { freePort, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';

const nowhere = `http://127.0.0.1:${closedPort}`;
const url = `postgres://ada:canary-of-the-url@127.0.0.1:${closedPort}/letters`;
const place = `127\\.0\\.0\\.1:${closedPort}`;

async function stage(t: TestContext) {
  const folder = await scratch();
  t.after(() => folder[Symbol.asyncDispose]());
  const where = { port: await freePort(), adminPort: await freePort() };
  const document = webhookConfig({ ...where, modelUrl: nowhere, receiverUrl: nowhere });
  await writeConfig(folder.path, { ...document, storage: { url_env: 'LETTERS_URL' } });
  const run = async (line: string, env: Record<string, string> = {}): Promise<Outcome> => {
    const variables = { WEBHOOK_SECRET: secret, HOME: folder.path, ...env };
    const outcome = await runCommand(line.split(' '), { cwd: folder.path, env: variables });
    assert.doesNotMatch(`${outcome.out}${outcome.err}`, /canary/, line);
    return outcome;
  };
  return { folder: folder.path, run };
}

const reads = [
  'trace 01JAAAAAAAAAAAAAAAAAAAAAAA',
  'messages',
  'conversations list',
  'conversations show webhook ada',
  'conversations export webhook ada',
  'dead-letters list',
  'notes list webhook ada',
  'audit',
  'spend',
  'pair --list',
];
const writes = [
  'dead-letters replay 01JAAAAAAAAAAAAAAAAAAAAAAA',
  'dead-letters discard 01JAAAAAAAAAAAAAAAAAAAAAAA',
  'conversations delete webhook ada --yes',
  'notes clear webhook ada --yes',
  'pair 123456',
];

test('without its URL every command is refused, and says which variable is missing', async (t) => {
  const { run } = await stage(t);
  for (const line of ['serve', ...reads, ...writes, 'backup copy.db']) {
    const { code, out, err } = await run(line);
    assert.deepEqual([code, out], [78, ''], line);
    assert.match(err, /LETTERS_URL is not set; it is used at storage\.url_env/, line);
  }
});

test('a value that is no URL of such a server is refused, and not repeated', async (t) => {
  const { run } = await stage(t);
  for (const line of ['serve', 'messages', 'pair 123456']) {
    const { code, err } = await run(line, { LETTERS_URL: 'https://canary.test/' });
    assert.equal(code, 78, line);
    assert.match(err, /the value of LETTERS_URL is no URL of a PostgreSQL server/, line);
  }
  const { code, out } = await run('doctor', { LETTERS_URL: 'https://canary.test/' });
  assert.equal(code, 78);
  assert.match(
    out,
    /✗ storage\.url_env: the value of LETTERS_URL is no URL of a PostgreSQL server/,
  );
  assert.doesNotMatch(out, /database server:/, 'there is none to be asked');
});

test('while the server is away every command says where it was looked for', async (t) => {
  const { run } = await stage(t);
  for (const line of ['serve', ...reads, ...writes]) {
    const { code, out, err } = await run(line, { LETTERS_URL: url });
    assert.deepEqual([code, out], [1, ''], `${line}: ${err}`);
    assert.match(err, new RegExp(place), line);
  }
});

test('the URL may come from a file, as every secret', async (t) => {
  const { folder, run } = await stage(t);
  const file = join(folder, 'letters-url');
  await writeFile(file, `${url}\n`);
  const { code, err } = await run('messages', { LETTERS_URL_FILE: file });
  assert.equal(code, 1);
  assert.match(err, new RegExp(place));
});

test('a backup is told as the command that makes one, without the password', async (t) => {
  const { run } = await stage(t);
  const { code, out, err } = await run('backup my.dump', { LETTERS_URL: url });
  assert.deepEqual([code, out], [1, '']);
  const flags = `--host=127\\.0\\.0\\.1 --port=${closedPort} --username=ada --dbname=letters`;
  const command = `pg_dump --schema=svc --format=custom ${flags} --file=my\\.dump`;
  assert.match(err, new RegExp(`^Nothing was copied\\..*\\n.*\\n {2}${command}\\n`));
});

test('the check reaches no server unless it is to, and then fails without one', async (t) => {
  const { run } = await stage(t);
  const { code, out } = await run('config check', { LETTERS_URL: url });
  assert.deepEqual([code, /svc\.json is valid/.test(out)], [0, true], out);
  for (const line of ['config check --preflight', 'doctor']) {
    const checked = await run(line, { LETTERS_URL: url });
    assert.equal(checked.code, 1, line);
    assert.match(
      checked.out,
      new RegExp(`\\n✗ database server: .*${place}.*\\n {2}LETTERS_URL has`),
    );
    assert.match(checked.out, /✓ LETTERS_URL: is set in the environment/);
    const unset = await run(line);
    assert.equal(unset.code, 78, line);
    assert.match(unset.out, /\n! database server: was not asked, since LETTERS_URL is not set\n/);
  }
});

test('secrets are listed with the URL among them', async (t) => {
  const { run } = await stage(t);
  const { code, out } = await run('secrets list', { LETTERS_URL: url });
  assert.equal(code, 0);
  assert.match(out, /\nLETTERS_URL +environment +\S+ +storage\.url_env\n/);
});

test('a file and a server at once are refused', async (t) => {
  const { folder, run } = await stage(t);
  const where = { port: 1, adminPort: 2, modelUrl: nowhere, receiverUrl: nowhere };
  const storage = { path: 'svc.db', url_env: 'LETTERS_URL' };
  await writeConfig(folder, { ...webhookConfig(where), storage });
  const { code, err } = await run('serve', { LETTERS_URL: url });
  assert.equal(code, 78);
  assert.match(err, /storage\.url_env\n {2}path names a file and url_env a database server/);
});
