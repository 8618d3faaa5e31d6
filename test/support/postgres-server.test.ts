/** The server that tests share: one a run and a database a file, without any leftovers. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { failuresOf } from '../../scripts/test-report.ts';
import type { Options, Outcome } from '../../scripts/test-run.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { noPgBouncer, startPgBouncer } from '../fake/postgres/pgbouncer.ts';
import { newDatabase, ownPostgresTest, postgresTest, noPostgres } from '../fake/postgres.ts';
import { callApart } from './call-apart.ts';
import { scratch } from './program.ts';
import { patienceMs, until } from './waiting.ts';

const runner = import.meta.resolve('../../scripts/test-run.ts');
const run = promisify(execFile);
const connecting = new URL('../../src/ledger/postgres/server/connect.ts', import.meta.url).href;
const deps = new URL('../fake/postgres.ts', import.meta.url).href;

/** Evaluates the expression in a new process. @returns its output */
async function say(expression: string, env: Readonly<Record<string, string>>): Promise<string> {
  const text = `const kit = await import('${deps}'); console.log(${expression});`;
  const args = ['--input-type=module', '-e', text];
  const { stdout } = await run(process.execPath, args, { env: { ...process.env, ...env } });
  return stdout.trim();
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await connect(url, { timeoutMs: patienceMs })).end();
    return true;
  } catch {
    return false;
  }
}

ownPostgresTest('the processes of a run share one server, which ends with the run', async () => {
  const whole = spawn('sleep', ['600'], { stdio: 'ignore' });
  const name = `${whole.pid}-${Date.now()}`;
  const env = { SVC_TEST_RUN: name, SVC_TEST_POSTGRES: '' };
  const ask = "(await kit.testServer()).url('postgres')";
  try {
    const urls = await Promise.all([say(ask, env), say(ask, env)]);
    assert.equal(new Set(urls).size, 1);
    assert.ok(await answers(urls[0]), 'it outlives who started it');
    whole.kill('SIGKILL');
    await until('the server ends', async () => !(await answers(urls[0])));
    const folder = join(tmpdir(), `svc-run-${name}`);
    await until('its folder is removed', () => !existsSync(folder));
  } finally {
    whole.kill('SIGKILL');
  }
});

postgresTest('a database is dropped when its test file is over', async () => {
  await using folder = await scratch();
  const told = join(folder.path, 'told');
  const file = (name: string, body: string): string => {
    const path = join(folder.path, `${name}.test.ts`);
    const heads = ["import { test } from 'node:test';", "import { writeFileSync } from 'node:fs';"];
    const all = [...heads, `import { newDatabase } from '${deps}';`, body];
    writeFileSync(path, all.join('\n'));
    return path;
  };
  const files = [
    file('one', `test('one', async () => writeFileSync('${told}', await newDatabase()));`),
    file(
      'two',
      `import { readFileSync } from 'node:fs';
      import assert from 'node:assert/strict';
      import { connect } from '${connecting}';
      test('two', async () => {
        const gone = readFileSync('${told}', 'utf8');
        await (await connect(gone)).end();
        await newDatabase();
        await assert.rejects(connect(gone), { code: '3D000' });
        writeFileSync('${told}', await newDatabase());
      });`,
    ),
  ];
  const options: Options = { files, processes: 1, silenceMsMax: 2 * patienceMs };
  const outcome = (await callApart(runner, 'runFiles', options)) as Outcome;
  assert.equal(failuresOf(outcome, folder.path), '');
});

test('without a server the tests say why they are skipped', async () => {
  const said = await say('kit.noPostgres', { SVC_NO_POSTGRES: '1', SVC_TEST_POSTGRES: '' });
  assert.match(said, /SVC_NO_POSTGRES says/);
  const given = { SVC_NO_POSTGRES: '1', SVC_TEST_POSTGRES: 'postgres://svc@h:1/postgres' };
  assert.equal(await say('kit.noPostgres', given), 'false');
  const ask = "(await kit.testServer()).url('other')";
  assert.equal(await say(ask, given), 'postgres://svc@h:1/other');
});

test(
  'a pooler gives each transaction any of its connections',
  { skip: noPostgres || noPgBouncer },
  async () => {
    const url = await newDatabase();
    await using pool = await startPgBouncer(url, 1);
    const clients = await Promise.all([connect(pool.url(url)), connect(pool.url(url))]);
    const ask = 'SELECT pg_backend_pid() AS pid';
    const answered = await Promise.all(clients.map((client) => client.query(ask)));
    const pids = answered.map(({ rows }) => rows[0]?.['pid']);
    assert.equal(new Set(pids).size, 1);
    await Promise.all(clients.map((client) => client.end()));
  },
);
