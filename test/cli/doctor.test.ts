/** The findings of svc doctor: beside a running service, a stopped one, and a faulty one. */
import assert from 'node:assert/strict';
import { chmod, open, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import type { PreflightLine } from '../../src/app/preflight/lines.ts';
import { listenerLines, clockLine } from '../../src/cli/doctor/doctor.ts';
import { versionAt } from '../../src/lib/program.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import {
  freePort,
  post,
  scratch,
  secret,
  serve,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { outcomeOf } from '../support/run-svc.ts';

async function stage(t: TestContext, more: Record<string, unknown> = {}) {
  const folder = await scratch();
  const model = await startFakeOllama({ answer: 'hello' }, { models: ['llama3.2'] });
  t.after(async () => {
    await model[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const port = await freePort();
  const adminPort = await freePort();
  const document = webhookConfig({
    port,
    adminPort,
    modelUrl: model.url,
    receiverUrl: 'http://127.0.0.1:9/replies',
  });
  const file = await writeConfig(folder.path, {
    ...document,
    storage: { path: 'svc.db' },
    ...more,
  });
  const doctor = async (args = '', env: Record<string, string> = {}) => {
    const words = ['doctor', ...args.split(' ').filter((word) => word !== '')];
    const secrets = { WEBHOOK_SECRET: secret };
    return runCommand(words, { cwd: folder.path, env: { ...secrets, ...env } });
  };
  return { folder: folder.path, file, port, adminPort, doctor };
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** Leaves a database with one message behind. */
async function runOnce({ file, port }: Stage): Promise<void> {
  await using program = await serveHere(file, port);
  await post(program.url, { sender_id: 'ada', text: 'hello' });
  await program.stop();
}

/** The same, without closing it. */
async function killOnce({ file, port }: Stage): Promise<void> {
  await using program = await serve(file, port);
  await post(program.url, { sender_id: 'ada', text: 'hello' });
  program.child.kill('SIGKILL');
  await program.ended;
}

test('beside a running service everything is fine', async (t) => {
  const on = await stage(t);
  await using _program = await serveHere(on.file, on.port);
  const surroundings = { cwd: on.folder, env: { WEBHOOK_SECRET: secret } };
  const { code, out, err } = await outcomeOf(['doctor'], surroundings);
  assert.deepEqual([code, err], [0, ''], out);
  assert.match(
    out,
    /✓ WEBHOOK_SECRET: is set in the environment\n✓ local_runtime\/llama3\.2 .* has the model\n/,
  );
  assert.match(out, /\n✓ database: is sound, and of this version \(\d+ KiB\)\n/);
  assert.match(out, /\n✓ owner: a running svc .*holds the database\n✓ rights: only the owner may/);
  assert.match(
    out,
    /\n✓ webhook at \S+: a running svc answers\n✓ admin server at .* svc answers\n/,
  );
  assert.match(out, /\n✓ clock: .*\n✓ svc\.json is valid\n$/);
});

const linux = { skip: process.platform !== 'linux' && 'only Linux tells who holds what' };

test('who holds the database, and who a port, is told by the id', linux, async (t) => {
  const on = await stage(t);
  await using program = await serve(on.file, on.port);
  const pid = program.child.pid!;
  const { out } = await on.doctor();
  assert.match(out, new RegExp(`\n✓ owner: a running svc \\(process ${pid}\\) holds`));
  const second = await outcomeOf(['serve'], {
    cwd: on.folder,
    env: { WEBHOOK_SECRET: secret },
  });
  assert.equal(second.code, 1);
  assert.match(
    second.err,
    new RegExp(`in use by another svc \\(process ${pid}\\)\\. Stop that one`),
  );
  await writeFile(on.file, (await readFile(on.file, 'utf8')).replace('"svc.db"', '"other.db"'));
  const third = await outcomeOf(['serve'], { cwd: on.folder, env: { WEBHOOK_SECRET: secret } });
  assert.equal(third.code, 78);
  assert.match(
    third.err,
    new RegExp(`stop the program that listens there \\(process ${pid}\\), or`),
  );
});

test('of a stopped service the addresses are free, and the database is closed', async (t) => {
  const on = await stage(t);
  const before = await on.doctor();
  assert.deepEqual([before.code, before.err], [0, '']);
  assert.match(before.out, /svc\.db: is not there yet and can be made\n/);
  await runOnce(on);
  const { code, out } = await on.doctor();
  assert.equal(code, 0, out);
  assert.match(out, /\n✓ owner: no svc holds the database; the last one closed it\n/);
  assert.match(out, /\n✓ webhook at \S+: is free\n✓ admin server at \S+: is free\n/);
});

test('what a kill left, and what others may read, are warnings', async (t) => {
  const on = await stage(t);
  await killOnce(on);
  await chmod(join(on.folder, 'svc.db'), 0o644);
  const { code, out } = await on.doctor();
  assert.equal(code, 0, out);
  assert.match(out, /\n! owner: .* without closing it, or this is a backup\n {2}Nothing to do: /);
  assert.match(
    out,
    /\n! rights: other users of this machine may use .+svc\.db\n {2}Run chmod go-rwx .+svc\.db'?\n/,
  );
});

test('a damaged database fails', async (t) => {
  const on = await stage(t);
  await runOnce(on);
  const file = await open(join(on.folder, 'svc.db'), 'r+');
  await file.write(Buffer.alloc(4_096 * 6, 0x5a), 0, 4_096 * 6, 4_096);
  await file.close();
  const { code, out } = await on.doctor();
  assert.equal(code, 1, out);
  assert.match(out, /\n✗ database: .*damaged/);
  assert.match(out, /\n✗ svc\.json is valid, but \d checks? failed\n$/);
});

test('an address that another program has fails', async (t) => {
  const on = await stage(t);
  const stranger = createServer((_request, response) => response.end('hello'));
  stranger.listen(on.port, '127.0.0.1');
  await once(stranger, 'listening');
  t.after(() => stranger.close());
  const { code, out } = await on.doctor();
  assert.equal(code, 1);
  assert.match(
    out,
    /\n✗ webhook at \S+: is taken by another program\n {2}Stop .* webhook\.bind\.\n/,
  );
  const json = await on.doctor('--json');
  const { valid, checks } = JSON.parse(json.out) as { valid: boolean; checks: PreflightLine[] };
  assert.deepEqual([json.code, valid], [1, true]);
  const failed = checks.filter(({ mark }) => mark === 'failed');
  assert.deepEqual(
    failed.map(({ subject }) => subject),
    [`webhook at 127.0.0.1:${on.port}`],
  );
});

test('the admin server’s default address is a warning, since svc starts without it', async (t) => {
  const stranger = createServer((_request, response) => response.end('hello')).listen(
    0,
    '127.0.0.1',
  );
  await once(stranger, 'listening');
  t.after(() => stranger.close());
  const { port } = stranger.address() as AddressInfo;
  const address = { host: '127.0.0.1', port, text: `127.0.0.1:${port}`, loopback: true };
  const marks = async (given: boolean): Promise<string[]> => {
    const observability = { enabled: true, address: { ...address, given }, allowedHosts: [] };
    const lines = await listenerLines({ channels: [], completions: null, observability }, null);
    return lines.map(({ mark }) => mark);
  };
  assert.deepEqual([await marks(false), await marks(true)], [['warning'], ['failed']]);
});

test('the address of the completions API is looked at, and its secret is needed', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const bind = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
  const on = await stage(t, { completions: { token_env: 'COMPLETIONS_TOKEN', bind } });
  const { code, out } = await on.doctor();
  assert.equal(code, 78);
  assert.match(out, /✗ COMPLETIONS_TOKEN: is not set; it is used at completions\.token_env/);
  assert.match(out, /✗ completions API at 127\.0\.0\.1:\d+: is taken by another program/);
  assert.match(out, /Stop that program, or change completions\.bind\./);
});

test('a missing secret and a problem of the file end with 78', async (t) => {
  const on = await stage(t);
  const missing = await on.doctor('', { WEBHOOK_SECRET: '' });
  assert.equal(missing.code, 78);
  assert.match(
    missing.out,
    /✗ WEBHOOK_SECRET: is set, but empty; it is used at channels\[0\]\.token_env/,
  );
  const invalid = await stage(t, { routes: [] });
  const { code, out } = await invalid.doctor();
  assert.equal(code, 78);
  assert.match(out, /✗ svc\.json is not valid: 1 problem\n$/);
  assert.equal((await on.doctor('--jsn')).code, 2);
});

test('a clock behind the newest message, or before this version, fails', async (t) => {
  const on = await stage(t);
  await runOnce(on);
  {
    using db = new DatabaseSync(join(on.folder, 'svc.db'));
    db.exec('UPDATE inbox SET accepted_at = accepted_at + 7200000');
  }
  const { code, out } = await on.doctor();
  assert.equal(code, 1);
  assert.match(out, /\n✗ clock: is 2 h behind the newest message stored\n {2}Set the clock/);
  const at = (now: number, newestAt: number | null): string =>
    clockLine({ now, newestAt, versionAt }).mark;
  assert.equal(at(versionAt - 1, null), 'failed');
  assert.equal(at(versionAt, null), 'ok');
  assert.equal(at(versionAt + 5_000, versionAt + 5_500), 'ok');
  assert.ok(versionAt < Date.now(), 'the version is not of the future');
});
