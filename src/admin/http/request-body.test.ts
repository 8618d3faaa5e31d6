import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer, request as ask } from 'node:http';
import { test } from 'node:test';
import { adminToken, makeWorld, withToken } from '../../../test/fake/admin-world.ts';
import { json } from './answer.ts';
import { bearerStateOf } from './auth.ts';
import { adminRefusals, RequestGuard } from './request-guard.ts';
import { RouteTable } from '../routes/match.ts';
import { askRoute, writeRoute, type Route } from '../routes/route.ts';
import { openApiRoute } from '../routes/openapi.ts';
import { list, maybeInteger, object, objectWith, text } from '../schemas/schema.ts';
import { problemAnd } from '../schemas/status.ts';

const bytesMax = 64;
const wanted = {
  kind: 'json',
  summary: 'What is asked.',
  bytesMax,
  example: { names: ['A'] },
  schema: { name: 'Wanted', of: objectWith({ names: list(text) }, { limit: maybeInteger }) },
} as const;

function routesOf(took: unknown[], leftWhile: (left: AbortSignal) => Promise<void>): Route[] {
  const contentType = 'application/json';
  return [
    writeRoute({
      path: '/text',
      method: 'PUT',
      action: 'put_text',
      summary: 'Takes a text.',
      contentType,
      ifMatch: 'The revision that it replaces.',
      body: { kind: 'text', summary: 'Any text.', bytesMax, example: '{"a":1}' },
      problems: {
        409: {
          summary: 'Not so.',
          also: [{ name: 'NotSo', of: problemAnd('not_so', { fields: list(text) }) }],
        },
      },
      answer: (_values, { body, revision, mayAskWith }) => {
        took.push([body, revision, mayAskWith([])]);
        return { ...json(200, {}), auditDetails: { revision } };
      },
    }),
    askRoute({
      path: '/question',
      summary: 'Answers.',
      contentType,
      body: wanted,
      schema: { name: 'Given', of: object({ names: list(text) }) },
      answer: async (_values, { body, left }) => {
        took.push([body.names, body.limit]);
        if (body.limit === 9) await leftWhile(left);
        return json(200, { names: body.names });
      },
    }),
  ];
}

type Head = Readonly<Record<string, string>>;
const jsonHead: Head = {
  authorization: `Bearer ${adminToken}`,
  'content-type': 'application/json',
};
const textHead: Head = { ...jsonHead, 'if-match': '"r1"' };

async function start() {
  const took: unknown[] = [];
  const world = makeWorld();
  const leaving = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const routes = routesOf(took, async (signal) => {
    signal.addEventListener('abort', () => left.resolve());
    leaving.resolve();
    await left.promise;
  });
  const described = openApiRoute(routes, '1');
  const hosts = { loopback: true, allowedHosts: () => ['svc.example'] };
  const settings = { ...hosts, access: withToken, refusals: adminRefusals(null) };
  const guard = new RequestGuard(new RouteTable([...routes, described]), world.ports, settings);
  const server = createServer((request, response) => {
    void guard
      .answer(request, response, bearerStateOf(request, withToken))
      .then(({ status, body }) => response.writeHead(status).end(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const send = async (method: string, path: string, headers: Head, body: string | Buffer) => {
    // A server that closes a connection with unread data resets it.
    const kept = { ...headers, connection: 'keep-alive' };
    const asked = ask({ port, method, path, headers: kept, agent: false });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [
      AsyncIterable<Buffer> & { statusCode: number },
    ];
    let told = '';
    for await (const part of response) told += String(part);
    return {
      status: response.statusCode,
      told,
      code: (JSON.parse(told) as { code?: string }).code,
    };
  };
  return {
    took,
    world,
    port,
    asked: leaving.promise,
    left: left.promise,
    send,
    put: (headers: Head, body: string | Buffer) => send('PUT', '/text', headers, body),
    question: (body: string | Buffer, headers = jsonHead) =>
      send('POST', '/question', headers, body),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a text comes to its route as it was sent, with the revision that it replaces', async () => {
  await using started = await start();
  const { put, took, world } = started;
  assert.equal((await put(textHead, '{"ä": nothing like JSON')).status, 200);
  assert.equal((await put({ ...textHead, 'if-match': ' "" ' }, '')).status, 200);
  assert.equal((await put({ ...textHead, host: 'svc.example' }, '')).status, 200);
  assert.deepEqual(took, [
    ['{"ä": nothing like JSON', 'r1', true],
    ['', '', true],
    ['', 'r1', false],
  ]);
  const told = JSON.parse(world.log().split('\n')[0]!) as Record<string, unknown>;
  assert.equal(told['code'], 'operator_wrote');
  assert.equal(told['revision'], 'r1', 'what the answer adds is told');
});

test('a write without If-Match is 428; one strong ETag alone is taken', async () => {
  await using started = await start();
  assert.equal((await started.put(jsonHead, '{}')).status, 428);
  const odd = ['"a b"', '"r\u009b1"', `"${'r'.repeat(101)}"`, ''];
  for (const tag of ['*', 'W/"r1"', 'r1', '"r1", "r2"', '"r1', '""r1"', ...odd]) {
    const { status, code } = await started.put({ ...jsonHead, 'if-match': tag }, '{}');
    assert.equal(status, 400, tag);
    assert.equal(code, 'invalid_if_match');
  }
  assert.deepEqual(started.took, []);
  const longest = { ...jsonHead, 'if-match': `"${'r'.repeat(100)}"` };
  assert.equal((await started.put(longest, '{}')).status, 200);
});

test('a body is JSON in UTF-8 by its type, within its length, and whole', async () => {
  await using started = await start();
  const { put, question, took } = started;
  for (const type of ['text/plain', 'application/json; charset=latin1', 'application/jsonx', '']) {
    const { status, code } = await put({ ...textHead, 'content-type': type }, '{}');
    assert.equal(status, 415, type);
    assert.equal(code, 'unsupported_media_type');
  }
  const zipped = await put({ ...textHead, 'content-encoding': 'gzip' }, '{}');
  assert.deepEqual([zipped.status, zipped.code], [415, 'unsupported_media_type']);
  const { 'content-type': _type, ...untyped } = textHead;
  assert.equal((await put(untyped, '{}')).status, 415);
  assert.equal((await put(textHead, 'x'.repeat(bytesMax + 1))).status, 413);
  const chunked = { ...textHead, 'transfer-encoding': 'chunked' };
  assert.equal((await put(chunked, 'x'.repeat(100_000))).status, 413);
  assert.equal((await put(textHead, Buffer.from([0x7b, 0xff]))).code, 'invalid_json');
  assert.equal((await question(Buffer.from([0x22, 0xc3]))).code, 'invalid_json');
  assert.deepEqual(took, []);
  const withCharset = { ...textHead, 'content-type': 'Application/JSON; charset="UTF-8"' };
  assert.equal((await put(withCharset, 'x'.repeat(bytesMax))).status, 200);
});

test('a question is parsed and held to its schema; a fault is told by its place', async () => {
  await using started = await start();
  const { question, took, world } = started;
  for (const [body, code, what] of [
    ['', 'invalid_json', /not JSON/],
    ['{"names":["a"]', 'invalid_json', /not JSON/],
    ['[]', 'invalid_field', /the whole is not an object/],
    ['null', 'invalid_field', /the whole is not an object/],
    ['{}', 'invalid_field', /names is not a list/],
    ['{"names":[1]}', 'invalid_field', /names\[0\] is not a text/],
    ['{"names":[],"limit":"7"}', 'invalid_field', /limit is not a whole number/],
  ] as const) {
    const answer = await question(body);
    assert.equal(answer.status, 400, body);
    assert.equal(answer.code, code, body);
    assert.match(answer.told, what);
  }
  assert.deepEqual(took, []);
  assert.equal((await question('{"names":["a"],"more":1}')).status, 200);
  assert.equal((await question('{"names":[],"limit":null}')).status, 200);
  assert.equal((await question('{"names":[],"limit":7}')).status, 200);
  assert.deepEqual(took, [
    [['a'], null],
    [[], null],
    [[], 7],
  ]);
  assert.equal(world.log(), '', 'a question changes nothing, so no line tells of it');
});

test('a route is told that its client left', async () => {
  await using started = await start();
  const body = '{"names":[],"limit":9}';
  const socket = connect(started.port, '127.0.0.1');
  const head = Object.entries({ ...jsonHead, host: 'localhost', 'content-length': body.length });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`POST /question HTTP/1.1\r\n${lines}\r\n${body}`);
  await started.asked;
  socket.destroy();
  await started.left;
});

test('the description says what a request must bring, and what a problem says more', async () => {
  await using started = await start();
  const { told } = await started.send('GET', '/api/v1/openapi.json', {}, '');
  const { paths, components } = JSON.parse(told) as {
    paths: Record<string, Record<string, Record<string, unknown>>>;
    components: { schemas: Record<string, Record<string, unknown>> };
  };
  const put = paths['/text']!['put']!;
  assert.deepEqual(put['requestBody'], {
    required: true,
    description: 'Any text. At most 64 bytes.',
    content: { 'application/json': { schema: {}, example: { a: 1 } } },
  });
  assert.deepEqual(put['parameters'], [
    {
      name: 'If-Match',
      in: 'header',
      required: true,
      description: 'The revision that it replaces.',
      schema: { type: 'string', pattern: '^"[!#-~]*"$' },
    },
  ]);
  const statuses = Object.keys(put['responses'] as object);
  const described = ['200', '400', '401', '403', '409', '413', '415', '421', '428', 'default'];
  assert.deepEqual(statuses, described);
  const problems = (put['responses'] as Record<string, { content: object }>)['409']!.content;
  const anyOf = ['Problem', 'NotSo'].map((name) => ({ $ref: `#/components/schemas/${name}` }));
  assert.deepEqual(problems, { 'application/problem+json': { schema: { anyOf } } });
  assert.deepEqual(components.schemas['Wanted']!['required'], ['names']);
  const question = paths['/question']!['post']!['requestBody'] as { content: object };
  const schema = { $ref: '#/components/schemas/Wanted' };
  const content = { 'application/json': { schema, example: { names: ['A'] } } };
  assert.deepEqual(question.content, content);
});
