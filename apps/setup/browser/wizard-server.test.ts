import assert from 'node:assert/strict';
import { request, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { text as readText } from 'node:stream/consumers';
import { webRoot } from '../../../test/fake/admin-world.ts';
import { fakeSession, plainPage } from '../../../test/fake/setup-session.ts';
import { until } from '../../../test/support/waiting.ts';
import type { Traded } from '../../../src/admin/http/sign-in.ts';
import { openWizardServer } from './wizard-server.ts';

type Reply = { readonly status: number; readonly text: string; readonly json: Json };
type Json = Readonly<Record<string, unknown>>;
type Ask = { method?: string; headers?: Record<string, string | string[]>; body?: unknown };

async function start() {
  const [shown, told, faults]: [number[], Traded[], unknown[]] = [[], [], []];
  const session = fakeSession();
  const server = await openWizardServer({
    session,
    webRoot,
    onShown: (revision) => shown.push(revision),
    onTraded: (traded) => told.push(traded),
    onFault: (error) => faults.push(error),
  });
  assert.ok('url' in server);
  const { origin } = new URL(server.url);
  const ask = (path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Reply> => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const asked = request(new URL(path, origin), { method, headers });
    asked.on('error', reject);
    const read = async (response: IncomingMessage): Promise<void> => {
      const text = await readText(response);
      const isJson = /json/.test(String(response.headers['content-type']));
      const json = isJson ? (JSON.parse(text) as Json) : {};
      resolve({ status: response.statusCode ?? 0, text, json });
    };
    asked.on('response', (response) => void read(response).catch(reject));
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  };
  const post = (path: string, body: unknown, headers: Ask['headers'] = {}): Promise<Reply> =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  return {
    server,
    origin,
    ask,
    post,
    session,
    taken: session.taken,
    told,
    shown,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      assert.deepEqual(faults, []);
    },
  };
}

const choice = { revision: 1, choice: 'llama', fields: {} };

type Started = Awaited<ReturnType<typeof start>>;

async function enter({ server, post }: Started): Promise<{ authorization: string }> {
  const code = server.offer().split('#')[1];
  const { status, json } = await post('/api/v1/sign-in', { code });
  assert.equal(status, 200);
  return { authorization: `Bearer ${String(json['token'])}` };
}

test('the code of the link is traded for a token, and with it the state is told', async () => {
  await using started = await start();
  const { server, origin, ask, told } = started;
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/setup$/);
  assert.match(server.offer(), /^http:\/\/127\.0\.0\.1:\d+\/setup#[\w-]{22}$/);
  const headers = await enter(started);
  const state = await ask('/api/v1/setup', { headers });
  assert.deepEqual(state.json, {
    revision: 1,
    page: plainPage,
    frontend: 'terminal',
    goesOn: false,
  });
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['token'],
  );
  assert.equal(new URL(server.url).origin, origin);
});

test('without the token, or with another, nothing is told and nothing is taken', async () => {
  await using started = await start();
  const { ask, post, taken } = started;
  await enter(started);
  for (const headers of [{}, { authorization: 'Bearer x' }, { cookie: 'token=x' }]) {
    assert.equal((await ask('/api/v1/setup', { headers })).status, 401);
    assert.equal((await post('/api/v1/setup/answer', choice, headers)).status, 401);
  }
  assert.deepEqual(taken, []);
});

test('another host name is refused everywhere, even with the token', async () => {
  await using started = await start();
  const { ask, post, server, taken } = started;
  const headers = { ...(await enter(started)), host: 'svc.example' };
  const code = server.offer().split('#')[1];
  for (const path of ['/setup', '/api/v1/setup', '/nowhere']) {
    assert.equal((await ask(path, { headers })).status, 421);
  }
  assert.equal((await post('/api/v1/setup/answer', choice, headers)).status, 421);
  assert.equal((await post('/api/v1/sign-in', { code }, headers)).status, 421);
  assert.deepEqual(taken, []);
  for (const host of ['127.0.0.1', 'localhost:1', '[::1]']) {
    assert.equal((await ask('/api/v1/setup', { headers: { ...headers, host } })).status, 200);
  }
});

test('a page from elsewhere can neither sign in nor answer', async () => {
  await using started = await start();
  const { origin, server, post, taken } = started;
  const token = await enter(started);
  const code = server.offer().split('#')[1];
  const foreign: Ask['headers'][] = [
    { origin: 'http://elsewhere.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { origin: [origin, origin] },
    { 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of foreign) {
    const answered = await post('/api/v1/setup/answer', choice, { ...token, ...headers });
    assert.equal(answered.status, 403);
    assert.equal(answered.json['code'], 'cross_site');
    assert.equal((await post('/api/v1/sign-in', { code }, headers)).status, 403);
  }
  assert.deepEqual(taken, []);
  const own = { ...token, origin, 'sec-fetch-site': 'same-origin' };
  assert.equal((await post('/api/v1/setup/answer', choice, own)).status, 200);
  assert.deepEqual(taken, [{ choice: 'llama', fields: {} }]);
  assert.equal((await post('/api/v1/sign-in', { code }, own)).status, 200, 'it was not used up');
});

test('the second use of a code is told, and signs the page out while it waits', async () => {
  await using started = await start();
  const { server, ask, post, told } = started;
  const code = server.offer().split('#')[1];
  const { json } = await post('/api/v1/sign-in', { code });
  const headers = { authorization: `Bearer ${String(json['token'])}` };
  const waiting = ask('/api/v1/setup?after=1', { headers });
  await until('a page that waits', () => started.session.waiting() > 0);
  const second = await post('/api/v1/sign-in', { code });
  assert.equal(second.status, 403);
  assert.equal(second.json['code'], 'code_used_twice');
  const { status, json: problem } = await waiting;
  assert.equal(status, 401);
  assert.equal(problem['code'], 'signed_out_code_used_twice');
  assert.match(String(problem['detail']), /a second time.*Press Enter/);
  assert.equal((await post('/api/v1/setup/answer', choice, headers)).status, 401);
  assert.deepEqual(told.at(-1), { kind: 'refused', why: 'used_twice' });
});

test('a question that names the version waits for the next one', async () => {
  await using started = await start();
  const { ask, session } = started;
  const headers = await enter(started);
  const waiting = ask('/api/v1/setup?after=1', { headers });
  await until('a page that waits', () => started.session.waiting() > 0);
  session.show({ title: 'Another' });
  assert.equal((await waiting).json['revision'], 2);
  assert.equal((await ask('/api/v1/setup?after=1', { headers })).json['revision'], 2);
});

test('closing ends a question that waits', async () => {
  const started = await start();
  const { ask } = started;
  const headers = await enter(started);
  const waiting = ask('/api/v1/setup?after=1', { headers });
  await until('a page that waits', () => started.session.waiting() > 0);
  await started[Symbol.asyncDispose]();
  assert.equal((await waiting).status, 200);
});

test('an answer is bounded, belongs to one page, and is one that the page offers', async () => {
  await using started = await start();
  const { ask, post, session } = started;
  const headers = { ...(await enter(started)), 'content-type': 'application/json' };
  const say = (body: unknown, more = {}): Promise<Reply> =>
    post('/api/v1/setup/answer', body, { ...headers, ...more });
  assert.equal((await say({ ...choice, fields: { a: 'x'.repeat(140_000) } })).status, 413);
  assert.equal((await say(choice, { 'content-type': 'text/plain' })).status, 415);
  assert.equal((await say({ ...choice, choice: 'nothing' })).json['code'], 'not_offered');
  assert.equal((await say({ ...choice, revision: 0 })).json['code'], 'stale');
  assert.equal((await say({ ...choice, fields: { secret: 7 } })).status, 400);
  assert.equal((await ask('/api/v1/setup/answer', { method: 'POST', headers })).status, 400);
  assert.deepEqual(session.taken, []);
  assert.equal((await post('/api/v1/sign-in', { code: 'x'.repeat(2_000) })).status, 413);
});

test('what was sent is in no answer', async () => {
  await using started = await start();
  const { ask, post } = started;
  const headers = await enter(started);
  const answers = [
    await post('/api/v1/setup/answer', { ...choice, fields: { key: 'canary-1' } }, headers),
    await post('/api/v1/setup/answer', { ...choice, fields: { key: ['canary-2'] } }, headers),
    await post('/api/v1/setup/answer', 'canary-3', headers),
    await post('/api/v1/sign-in', { code: 'canary-4' }),
    await post('/api/v1/sign-in', ['canary-5']),
    await ask('/api/v1/setup', { headers }),
  ];
  assert.doesNotMatch(answers.map(({ text }) => text).join('\n'), /canary/);
});

test('every answer forbids what a page of svc never does', async () => {
  await using started = await start();
  for (const path of ['/setup', '/setup/assets/none.js', '/api/v1/setup', '/nowhere']) {
    const answer = await fetch(new URL(path, started.origin));
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('set-cookie'), null);
    await answer.text();
  }
});
