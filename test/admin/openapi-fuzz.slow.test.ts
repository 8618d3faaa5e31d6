/**
 * Random requests to the running service, made only from its own description. Each answer matches
 * the description, none is a fault of ours, and without the bearer none discloses data. A failure
 * prints the seed; `SEED=<n>` makes the same requests again.
 */
import assert from 'node:assert/strict';
import { Agent, request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { assert as holds, asyncProperty } from 'fast-check';
import { securityHeaders } from '../../src/admin/http/answer.ts';
import { requestsFor, type Bearer, type Fuzzed } from './fuzz.ts';
import { anotherHost } from '../fake/many-hosts.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { asks, lastOf } from '../agents/stage.ts';
import {
  assertDescribed,
  isTaken,
  operationsOf,
  type OpenApi,
  type Operation,
} from './open-api.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { runs } from '../support/runs.ts';
import { until } from '../support/waiting.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`seed ${seed}`);

/** The number of random requests for each operation. */
const times = runs(8);
const token = 'an-administrator-token-of-the-tests';
const sender = 'ada@example';
const conversation = 'order/7 ü';
const said = 'where is order seven';
const answered = 'it is on its way';
const reckon = 'reckon what it costs';
const texts = [said, answered, reckon];
const untold = [sender, conversation, encodeURIComponent(conversation), ...texts, token];
const authorizations: Readonly<Record<Bearer, string | string[] | undefined>> = {
  right: `Bearer ${token}`,
  wrong: `Bearer ${token}x`,
  twice: [`Bearer ${token}`, `Bearer ${token}`],
  none: undefined,
};

type Reply = { readonly status: number; readonly headers: Headers; readonly body: string };
type Asked = Pick<Fuzzed, 'method' | 'target'> & Partial<Fuzzed>;

/**
 * A service that has answered a message with a tool, has dead-lettered the reply to another, and
 * waits for approval of a call.
 */
async function start(storage: 'memory' | 'sqlite') {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const tools = storage === 'sqlite' ? ['echo', 'memory_note'] : ['echo'];
  const model = stack.use(
    await startFakeOllama((call) => {
      const { role, content } = lastOf(call);
      if (role === 'user' && content.startsWith(reckon)) return asks('calc', { expression: '1' });
      const note = asks(tools.at(-1)!, { note: said, text: said });
      return role === 'user' ? note : { answer: answered };
    }),
  );
  const receiver = stack.use(await startReceiver());
  receiver.script.push(200, 410);
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const memory = storage === 'sqlite' ? { memory: {} } : {};
  const grants = tools.map((tool) => ({ tool, mode: 'allow' }));
  const governance = [...grants, { tool: 'calc', mode: 'ask' }];
  const agent = { tools: [...tools, 'calc'], governance, ...memory };
  Object.assign(config.brains[0]!, { agent });
  const kept = storage === 'sqlite' ? { storage: { path: 'svc.db' }, session: {} } : {};
  const document = { ...config, ...kept, admin: { token_env: 'ADMIN_TOKEN' } };
  const file = await writeConfig(folder.path, document);
  // Random writes stay out of the keychain of the person who runs the tests.
  const noKeychain = {
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere',
    XDG_RUNTIME_DIR: folder.path,
  };
  const program = stack.use(await serve(file, port, { ADMIN_TOKEN: token, ...noKeychain }));
  for (const [n, text] of [said, said, reckon].entries()) {
    await post(program.url, { sender_id: sender, text, conversation_id: conversation });
    await receiver.waitFor(n + 1);
  }
  const connections = new Agent({ keepAlive: true });
  stack.defer(() => connections.destroy());
  const ask = (what: Asked): Promise<Reply> => send(connections, adminPort, what);
  await untilDeadLetter(ask);
  const { body } = await ask({ method: 'GET', target: '/api/v1/openapi.json' });
  const api = JSON.parse(body) as OpenApi;
  return { ask, api, program, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function untilDeadLetter(ask: (what: Asked) => Promise<Reply>): Promise<void> {
  await until('a dead letter', async () => {
    const { body } = await ask({ method: 'GET', target: '/api/v1/dead-letters/reasons' });
    return body.includes('"gone"');
  });
}

/** The bytes of a text that a header can carry. */
function asSent(value: string): string {
  return Buffer.from(value)
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

function send(agent: Agent, port: number, asked: Asked): Promise<Reply> {
  const { method, target, body = null, bearer = 'none' } = asked;
  const headers: OutgoingHttpHeaders = Object.fromEntries(
    Object.entries(asked.headers ?? {}).map(([name, value]) => [name, asSent(value)]),
  );
  const authorization = authorizations[bearer];
  // Node's type knows only one such header.
  if (authorization !== undefined) Object.assign(headers, { authorization });
  if (body !== null) headers['content-length'] = body.bytes.length;
  if (body !== null && body.contentType !== null) headers['content-type'] = body.contentType;
  const from = bearer === 'wrong' ? anotherHost() : undefined;
  const to = { agent, host: '127.0.0.1', port, method, path: target, headers, localAddress: from };
  return new Promise((resolve, reject) => {
    const request = httpRequest(to, (response) => {
      const { statusCode: status = 0 } = response;
      const pairs = Object.entries(response.headers);
      const told = new Headers(pairs.map(([name, value]) => [name, String(value)]));
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status, headers: told, body: text }));
      // A stream has no end of its own.
      if (told.get('content-type')?.startsWith('text/event-stream') === true) {
        resolve({ status, headers: told, body: '' });
        response.destroy();
      }
    });
    request.on('error', reject);
    request.end(body?.bytes);
  });
}

/** Collects texts by field name; some also under the name that paths use. */
function learn(known: Map<string, Set<string>>, value: unknown, key = ''): void {
  if (typeof value === 'string' && value !== '') {
    const name = { messageId: 'id', next: 'after', name: 'brain' }[key] ?? key;
    known.set(name, (known.get(name) ?? new Set()).add(value));
  } else if (Array.isArray(value)) {
    for (const item of value) learn(known, item, key);
  } else if (typeof value === 'object' && value !== null) {
    // The audit's targets hold earlier random requests.
    for (const [inner, one] of Object.entries(value))
      if (inner !== 'target') learn(known, one, inner);
  }
}

/** The service's present answers to an operator. */
async function knownOf({ ask, api }: Started): Promise<Map<string, Set<string>>> {
  const known = new Map([['sender', new Set([sender])]]);
  for (const { method, path, parameters } of operationsOf(api)) {
    if (method !== 'GET' || parameters.some(({ required }) => required)) continue;
    const { status, headers, body } = await ask({ method, target: path, bearer: 'right' });
    const files = Array.from(body.matchAll(/"\/\w+\/assets\/([^"/]+)"/g), ([, file]) => ({ file }));
    const isJson = headers.get('content-type') === 'application/json';
    if (status !== 200 || path.endsWith('openapi.json')) continue;
    learn(known, isJson ? JSON.parse(body) : files);
  }
  return known;
}

/** By the operation's access: `[]` is for everybody, `[{}, …]` for readers too. */
function judge(operation: Operation, { bearer, fits, body }: Fuzzed, { status }: Reply): void {
  const [openTo] = operation.security;
  const needsBearer = openTo !== undefined && Object.keys(openTo).length > 0;
  const isLetIn = bearer === 'right' || openTo === undefined || (!needsBearer && bearer === 'none');
  assert.equal(status === 401, !isLetIn, `${status}, let in: ${isLetIn}`);
  if (!isLetIn) return;
  if (fits === false) assert.equal(status, 400, 'a value is not as described');
  if (fits === true && body === null) assert.notEqual(status, 400, 'all is as described');
  if (body?.fits === false) assert.ok(status >= 400, 'the body is not as described');
  if (fits === true && body?.fits === true) assert.notEqual(status, 400, 'the body fits');
}

const changing = ['GET', 'POST', 'PUT', 'DELETE'];
/** A read gets existing data in one request of twelve or more. */
const searchMax = 1_000;

async function fuzz(storage: 'memory' | 'sqlite'): Promise<void> {
  await using started = await start(storage);
  const { ask, api } = started;
  // Deletions come last, so that the others find data.
  const operations = operationsOf(api).toSorted(
    (a, b) => changing.indexOf(a.method) - changing.indexOf(b.method),
  );
  let known = await knownOf(started);
  for (const operation of operations) {
    if (operation.method !== 'GET') known = await knownOf(started);
    const requests = requestsFor(api, operation, known);
    const came = new Set<number>();
    const once = asyncProperty(requests, async (request) => {
      const reply = await ask(request);
      came.add(reply.status);
      assertDescribed(api, operation, reply);
      judge(operation, request, reply);
      assertWalled(request, reply);
      if (operation.method === 'GET') await assertHead(ask, request, reply);
    });
    await holds(once, { seed, numRuns: times });
    if (storage === 'memory' || operation.method !== 'GET') continue;
    for (let more = 1; !came.has(200); more++) {
      assert.ok(more <= searchMax, `GET ${operation.path} never came to what it reads`);
      await holds(once, { seed: seed + more, numRuns: 1 });
    }
  }
  const { status } = await ask({ method: 'GET', target: '/healthz' });
  assert.equal(status, 200);
  assert.doesNotMatch(started.program.log(), /"code":"fault/);
}

type Started = Awaited<ReturnType<typeof start>>;

function assertWalled({ bearer, target }: Fuzzed, { status, headers, body }: Reply): void {
  // Scripts and styles hold no data, and their names change with their content.
  const isKept = status === 200 && target.includes('/assets/');
  for (const [name, value] of Object.entries(securityHeaders)) {
    // No proxy may hold back the events of a stream.
    const told = headers.get(name)?.replace(', no-transform', '');
    if (!(isKept && name === 'cache-control')) assert.equal(told, value, name);
  }
  if (bearer === 'right') return;
  for (const text of untold) assert.ok(!body.includes(text), `it tells ${text}`);
}

async function assertHead(ask: Started['ask'], request: Fuzzed, reply: Reply): Promise<void> {
  const head = await ask({ ...request, method: 'HEAD' });
  assert.deepEqual([head.status, head.body], [reply.status, '']);
  assert.equal(head.headers.get('content-type'), reply.headers.get('content-type'));
}

test('without storage, what comes at random is answered as described', () => fuzz('memory'));
test('with storage, what comes at random is answered as described', () => fuzz('sqlite'));

test('a method that a path does not take is 405 and told so', async () => {
  await using started = await start('memory');
  const { ask, api } = started;
  for (const [path, item] of Object.entries(api.paths)) {
    const taken = Object.keys(item).map((method) => method.toUpperCase());
    const allow = taken.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']) {
      const target = path.replaceAll(/\{\w+\}/g, 'x');
      if (isTaken(api, target, method)) continue;
      const { status, headers } = await ask({ method, target, bearer: 'right' });
      assert.deepEqual([status, headers.get('allow')], [405, allow], `${method} ${path}`);
    }
  }
});
