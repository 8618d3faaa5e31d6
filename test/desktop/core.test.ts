/** `svc serve` as the core of an application: a fake shell and the whole service. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Stuck } from '../../apps/desktop/desktop.ts';
import { shellPage, startFakeShell, type FakeShell } from '../fake/shell.ts';
import { startCommand } from '../support/in-process.ts';
import {
  freePort,
  scratch,
  secret,
  startProgram,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';

const nowhere = 'http://127.0.0.1:9/';
const admin = { admin: { token_env: 'ADMIN_TOKEN' } };

type Choice = {
  /** Adds to the smallest configuration, or replaces parts of it. */
  readonly document?: Record<string, unknown>;
  readonly env?: Record<string, string>;
  /** The port of the last window. */
  readonly lastPort?: number;
  /** The secrets that the shell has in memory, where there is no keychain. */
  readonly inMemory?: Record<string, string>;
};

async function start(choice: Choice = {}) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const shell = stack.use(await startFakeShell({ port: choice.lastPort ?? 0 }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: nowhere, receiverUrl: nowhere };
  const document = { ...webhookConfig(where), ...choice.document };
  const file = await writeConfig(folder.path, document);
  const { inMemory = null } = choice;
  const orders = JSON.stringify({ ...shell.orders, lends: inMemory !== null });
  const env = { WEBHOOK_SECRET: secret, SVC_DESKTOP: orders, ...choice.env };
  const program = stack.use(startCommand(['serve', '--config', file], { env }));
  if (inMemory !== null) program.input.end(JSON.stringify(inMemory));
  const open = stack.move();
  const log = (): Promise<string> => readFile(join(shell.orders.logFolder, 'svc.log'), 'utf8');
  const atWork = async () => {
    const over = program.ended.then((code) => Promise.reject(new Error(`ended: ${code}`)));
    return Promise.race([shell.next('at_work'), over]);
  };
  const end = { [Symbol.asyncDispose]: () => open.disposeAsync() };
  return { shell, adminPort, file, program, log, atWork, ...end };
}

async function occupy(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer().listen(await freePort(), '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

/** The code of the status, requested at 127.0.0.2 with a name that svc knows there. */
async function statusAt(port: number, headers: OutgoingHttpHeaders): Promise<number | undefined> {
  const place = { host: '127.0.0.2', port, path: '/api/v1/status' };
  const asked = request({ ...place, headers: { ...headers, host: 'localhost' } }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

type Told = { readonly status: number; readonly json: Readonly<Record<string, unknown>> };

async function ask(url: URL | string, init: RequestInit = {}): Promise<Told> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  const isJson = /json/.test(answer.headers.get('content-type') ?? '');
  return { status: answer.status, json: isJson ? JSON.parse(text) : {} };
}

function post(origin: string, path: string, body: object, headers = {}): Promise<Told> {
  const sent = { 'content-type': 'application/json', ...headers };
  const url = new URL(path, origin);
  return ask(url, { method: 'POST', headers: sent, body: JSON.stringify(body) });
}

const asOperator = (token: unknown) => ({ authorization: `Bearer ${String(token)}` });
const codeIn = (url: URL): object => ({ code: url.hash.slice(1) });

async function signIn(shell: FakeShell): Promise<Told & { readonly origin: string }> {
  const url = await shell.offer();
  return { ...(await post(url.origin, '/api/v1/sign-in', codeIn(url))), origin: url.origin };
}

async function whyStuck(choice: Choice): Promise<Stuck> {
  await using started = await start(choice);
  assert.equal(await started.program.ended, 78);
  return (await started.shell.next('stuck')).why;
}

for (const [name, own, taken] of [
  ['is used where nothing else has it', '', 'lent'],
  ['is not used where the environment has one', secret, 'own'],
] as const) {
  test(`what the shell lends ${name}, and is told nowhere`, async () => {
    const canary = 'canary-5Jq0xKdWmT';
    await using started = await start({
      env: { WEBHOOK_SECRET: own },
      inMemory: { WEBHOOK_SECRET: canary },
    });
    await started.atWork();
    const { channels } = JSON.parse(await readFile(started.file, 'utf8')) as {
      channels: [{ webhook: { bind: string } }];
    };
    const say = async (token: string): Promise<number> => {
      const message = { sender_id: 'ada', text: 'Hello' };
      const url = `http://${channels[0].webhook.bind}`;
      return (await post(url, '/webhook', message, asOperator(token))).status;
    };
    assert.deepEqual(
      [await say(canary), await say(secret)],
      taken === 'lent' ? [200, 401] : [401, 200],
    );
    for (const told of [await started.log(), started.program.out(), started.program.err()]) {
      assert.ok(!told.includes(canary));
    }
  });
}

test('who brings the code of the shell may do what an operator may', async () => {
  await using started = await start({ document: admin });
  const { shell, adminPort, program } = started;
  const { origin, canWrite } = await started.atWork();
  assert.deepEqual([origin, canWrite], [`http://127.0.0.1:${adminPort}`, true]);
  const { json } = await signIn(shell);
  assert.equal(json['page'], shellPage);
  const headers = asOperator(json['token']);
  for (const path of ['/api/v1/conversations', '/builder', '/api/v1/status']) {
    assert.equal((await ask(new URL(path, origin), { headers })).status, 200, path);
  }
  const status = await ask(new URL('/api/v1/status', origin));
  assert.deepEqual([status.json['access'], status.json['application']], ['operator', true]);
  assert.doesNotMatch(JSON.stringify(status.json), /admin_token_unset/);
  assert.equal(await program.stop(), 0);
  assert.doesNotMatch(await started.log(), /admin_token_unset/);
});

test('a configuration that is taken meanwhile warns of no token either', async () => {
  await using started = await start({ document: admin });
  const { shell, file, program, log } = started;
  const { origin } = await started.atWork();
  const url = new URL('/api/v1/config', origin);
  const headers = {
    ...asOperator(await shell.grant()),
    'content-type': 'application/json',
    'if-match': `"${String((await ask(new URL('/api/v1/status', origin))).json['revision'])}"`,
  };
  const written = JSON.parse(await readFile(file, 'utf8'));
  written.observability.allowed_hosts = ['svc.example'];
  const body = JSON.stringify(written);
  const { status, json } = await ask(url, { method: 'PUT', headers, body });
  assert.deepEqual([status, json['warnings']], [200, []]);
  assert.equal(await program.stop(), 0);
  assert.doesNotMatch(await log(), /admin_token_unset/);
});

test('the token of the admin block counts beside it', async () => {
  const token = 'a-token-of-the-administrator';
  await using started = await start({ document: admin, env: { ADMIN_TOKEN: token } });
  const { origin } = await started.atWork();
  const url = new URL('/api/v1/conversations', origin);
  assert.equal((await ask(url, { headers: asOperator(token) })).status, 200);
  const { json } = await signIn(started.shell);
  assert.equal((await ask(url, { headers: asOperator(json['token']) })).status, 200);
  assert.equal((await ask(url, { headers: asOperator(`${token}x`) })).status, 401);
});

test('a code that is used twice signs everybody out, and the log says so', async () => {
  await using started = await start({ document: admin });
  const { shell } = started;
  const { origin } = await started.atWork();
  const url = await shell.offer();
  const first = await post(origin, '/api/v1/sign-in', codeIn(url));
  const second = await post(origin, '/api/v1/sign-in', codeIn(url));
  assert.deepEqual([second.status, second.json['code']], [403, 'code_used_twice']);
  const headers = asOperator(first.json['token']);
  const after = await ask(new URL('/api/v1/status', origin), { headers });
  assert.deepEqual([after.status, after.json['code']], [401, 'signed_out_code_used_twice']);
  assert.match(await started.log(), /"level":"warn","code":"sign_in_withdrawn"/);
});

test('what the shell withdraws opens nothing: neither the token nor a code', async () => {
  await using started = await start({ document: admin });
  const { shell } = started;
  const { origin } = await started.atWork();
  const { json } = await signIn(shell);
  const offered = await shell.offer();
  shell.say({ kind: 'withdraw' });
  const granted = await shell.grant();
  const url = new URL('/api/v1/conversations', origin);
  assert.equal((await ask(url, { headers: asOperator(json['token']) })).status, 401);
  assert.equal((await post(origin, '/api/v1/sign-in', codeIn(offered))).status, 403);
  assert.equal((await ask(url, { headers: asOperator(granted) })).status, 200);
});

test('without an admin block nobody gets a token; who signs in is told of the page', async () => {
  await using started = await start();
  const { shell } = started;
  assert.equal((await started.atWork()).canWrite, false);
  const { status, json, origin } = await signIn(shell);
  assert.deepEqual([status, json], [200, { token: null, page: shellPage }]);
  assert.equal(await shell.grant(), null);
  assert.equal((await ask(new URL('/builder', origin))).status, 404);
  assert.equal((await ask(new URL('/api/v1/conversations', origin))).status, 403);
});

test('where the admin server is off, the window has one of its own, at its last port', async () => {
  const lastPort = await freePort();
  const document = { ...admin, observability: { enabled: false } };
  await using started = await start({ document, lastPort });
  const { shell, log } = started;
  const { origin, canWrite } = await started.atWork();
  assert.deepEqual([origin, canWrite], [`http://127.0.0.1:${lastPort}`, true]);
  const { json } = await signIn(shell);
  const headers = asOperator(json['token']);
  assert.equal((await ask(new URL('/api/v1/conversations', origin), { headers })).status, 200);
  assert.match(await log(), /"code":"listening".*"admin":null,"window":"http:/);
});

test('the last port may be taken by now', async () => {
  await using taken = await occupy();
  const document = { observability: { enabled: false } };
  await using started = await start({ document, lastPort: taken.port });
  const { origin } = await started.atWork();
  assert.notEqual(new URL(origin).port, String(taken.port));
  assert.equal((await ask(new URL('/ui', origin))).status, 200);
});

test('an address that is not the window’s stays, and knows nobody of the window', async () => {
  const port = await freePort();
  const document = { ...admin, observability: { addr: `127.0.0.2:${port}` } };
  await using started = await start({ document });
  const { shell, log } = started;
  const { origin } = await started.atWork();
  assert.notEqual(new URL(origin).port, String(port));
  const { json } = await signIn(shell);
  const headers = asOperator(json['token']);
  assert.equal((await ask(new URL('/api/v1/status', origin), { headers })).status, 200);
  assert.equal(await statusAt(port, headers), 401);
  assert.equal(await statusAt(port, {}), 200);
  assert.match(await log(), /admin_token_unset/);
  assert.match(await log(), new RegExp(`"admin":"http://127\\.0\\.0\\.2:${port}/ui","window"`));
});

test('its log is in files, and standard error stays for what breaks', async () => {
  await using started = await start();
  const { shell, program, log } = started;
  await started.atWork();
  assert.match(await log(), /^\{.*"code":"listening"/m);
  assert.equal(program.err(), '');
  assert.deepEqual(await readdir(shell.orders.logFolder), ['svc.log']);
});

test('the shell ends it in order', async () => {
  await using started = await start();
  const { shell, program, log } = started;
  await started.atWork();
  shell.say({ kind: 'stop' });
  assert.equal(await program.ended, 0);
  assert.match(await log(), /"code":"drained"/);
});

test('it goes on without its shell, and another finds it', async () => {
  await using started = await start({ document: admin });
  const { shell } = started;
  const { origin } = await started.atWork();
  await shell.gone();
  assert.equal((await ask(new URL('/healthz', origin))).status, 200);
  await shell.back();
  assert.equal((await started.atWork()).origin, origin);
  assert.equal((await signIn(shell)).status, 200);
});

test('an address of the file that is taken is told with its place', async () => {
  await using taken = await occupy();
  const address = `127.0.0.1:${taken.port}`;
  const ofAdmin = await whyStuck({ document: { observability: { addr: address } } });
  assert.ok(ofAdmin.of === 'address');
  assert.deepEqual([ofAdmin.field, ofAdmin.address], ['observability.addr', address]);
  const where = { port: taken.port, adminPort: 0, modelUrl: nowhere, receiverUrl: nowhere };
  const ofWebhook = await whyStuck({ document: webhookConfig(where) });
  assert.ok(ofWebhook.of === 'address');
  assert.deepEqual([ofWebhook.field, ofWebhook.address], ['channels[0].webhook.bind', address]);
  assert.match(ofWebhook.message, /the address is taken/);
});

test('a broken configuration is told by its problems, with their lines', async () => {
  const why = await whyStuck({ document: { nonsense: 1, routes: [] } });
  assert.ok(why.of === 'config');
  const problem = why.problems.find(({ path }) => path === 'nonsense');
  assert.ok(problem !== undefined && problem.line > 1 && problem.remedy !== '');
});

test('a missing secret is told by its name, its places and the state of the keychain', async () => {
  const why = await whyStuck({ env: { WEBHOOK_SECRET: '' } });
  assert.ok(why.of === 'secrets');
  const [missing] = why.missing;
  assert.equal(missing?.name, 'WEBHOOK_SECRET');
  assert.deepEqual(missing.usedAt, ['channels[0].token_env']);
  assert.match(missing.why, /^WEBHOOK_SECRET is set, but empty\.$/);
  assert.equal(why.told === null, why.keychain === 'ready');
});

test('a database that another svc has needs the person', async () => {
  await using folder = await scratch();
  const document = { storage: { path: join(folder.path, 'svc.db') } };
  await using first = await start({ document });
  await first.atWork();
  await using second = await startFakeShell();
  // The system would give both to one process.
  const env = { WEBHOOK_SECRET: secret, ...second.env };
  await using program = startProgram(['serve', '--config', first.file], env);
  assert.equal(await program.ended, 78);
  const { why } = await second.next('stuck');
  assert.ok(why.of === 'in_use');
  assert.match(why.message, /in use by another svc/);
  assert.match(program.log(), /in use by another svc/);
});

test('orders that no shell gave are wrong usage', async () => {
  await using started = await start({ env: { SVC_DESKTOP: '{"socket":""}' } });
  assert.equal(await started.program.ended, 2);
  assert.match(started.program.err(), /SVC_DESKTOP is for svc itself: unset it/);
});

test('without a shell there is nothing of an application', async () => {
  await using folder = await scratch();
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: nowhere, receiverUrl: nowhere };
  const file = await writeConfig(folder.path, { ...webhookConfig(where), ...admin });
  const env = { WEBHOOK_SECRET: secret };
  await using program = startCommand(['serve', '--config', file], { env });
  await program.until(/"listening"/, 'err');
  const origin = `http://127.0.0.1:${adminPort}`;
  for (const path of ['sign-in', 'sign-in/next', 'sign-in/ask', 'application']) {
    assert.equal((await post(origin, `/api/v1/${path}`, {})).status, 404, path);
  }
  const status = await ask(`${origin}/api/v1/status`);
  assert.deepEqual([status.json['access'], status.json['application']], ['read_only', false]);
  assert.match(program.err(), /admin_token_unset/);
});
