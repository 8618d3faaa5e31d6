/** The whole route table, asked by those who may not: each gets the right no, and nothing else. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { answered, ids, pathOf, said } from '../../test/fake/admin-ledger.ts';
import { adminToken, live, makeWorld, openAdmin, revision } from '../../test/fake/admin-world.ts';
import { withToken } from '../../test/fake/admin-world.ts';
import type { Reply } from '../../test/fake/admin-world.ts';
import { assertDescribed, operationsOf, requestOf } from '../../test/open-api.ts';
import type { OpenApi, Operation } from '../../test/open-api.ts';
import type { OperatorAccess, Principal } from './auth.ts';

const own = 'Host: localhost';
const right = `Authorization: Bearer ${adminToken}`;
const guarded = [ids.conversation, encodeURIComponent(ids.conversation), said, answered];
const outsiders: readonly string[] = [...guarded, ids.sender, adminToken];

/** As the description has it: who needs no bearer, who may have one, who must. */
function principalOf({ security }: Operation): Principal {
  if (security.length === 0) return 'prober';
  return security.length === 2 ? 'reader' : 'operator';
}

async function start(options: Parameters<typeof openAdmin>[1] = { access: withToken }) {
  const world = makeWorld();
  live(world.events);
  const admin = await openAdmin(world, options);
  const api = JSON.parse((await admin.get('/api/v1/openapi.json')).body) as OpenApi;
  return {
    world,
    admin,
    api,
    operations: operationsOf(api),
    [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
  };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Asks every operation with these header lines. @param expected by who the operation is for */
async function walk(
  { admin, api, operations, world }: Started,
  head: readonly string[],
  expected: (operation: Operation) => number,
): Promise<void> {
  for (const operation of operations) {
    const before = world.calls.length;
    const { head: more, body } = requestOf(operation, revision);
    const all = [...head, ...more];
    const answer = await admin.send(operation.method, pathOf(operation), all, body);
    const where = `${operation.method} ${operation.path} with ${head.join(', ')}`;
    assert.equal(answer.status, expected(operation), `${where}: ${answer.body}`);
    assertDescribed(api, operation, answer);
    assertTellsNothing(answer, where);
    if (answer.status !== 200) assert.equal(world.calls.length, before, `${where} did something`);
  }
  assert.equal(world.events.meters.faults, 0);
}

function assertTellsNothing({ body, headers }: Reply, where: string): void {
  const all = [body, ...headers.values()].join('\n');
  for (const secret of outsiders) assert.ok(!all.includes(secret), `${where} tells ${secret}`);
}

const byPrincipal =
  (statuses: Readonly<Record<Principal, number>>) =>
  (operation: Operation): number =>
    statuses[principalOf(operation)];

test('without a bearer, readers are answered and operators are not', async () => {
  await using started = await start();
  for (const more of [[], ['Authorization: Basic YTpi'], ['Authorization:'], ['Cookie: a=b']]) {
    const expected = byPrincipal({ prober: 200, reader: 200, operator: 401 });
    await walk(started, [own, ...more], expected);
  }
});

test('a bearer that is wrong, however nearly right, is 401 for readers as well', async () => {
  await using started = await start();
  const wrong = [
    'Bearer',
    'Bearer wrong',
    `Bearer ${adminToken.slice(0, -1)}`,
    `Bearer ${adminToken.slice(1)}`,
    `Bearer ${adminToken}x`,
    `Bearer x${adminToken}`,
    `Bearer ${adminToken.toUpperCase()}`,
    `Bearer ${adminToken} ${adminToken}`,
    `Bearer ${adminToken.replaceAll('-', '  ')}`,
    `Bearer "${adminToken}"`,
    `Bearer ${adminToken},`,
    `Bearer token=${adminToken}`,
    `Bearer ${'x'.repeat(8_000)}`,
  ].map((value) => `Authorization: ${value}`);
  const twice = `${right}\r\nAuthorization: Bearer wrong`;
  for (const line of [
    ...wrong,
    twice,
    `${right}\r\n${right}`,
    `Authorization: Basic x\r\n${right}`,
  ]) {
    const expected = byPrincipal({ prober: 200, reader: 401, operator: 401 });
    await walk(started, [own, line], expected);
  }
});

test('another scheme, or another place for the token, opens nothing', async () => {
  await using started = await start();
  const inPlace = [
    `Authorization: Basic ${Buffer.from(`admin:${adminToken}`).toString('base64')}`,
    `Authorization: ${adminToken}`,
    `Authorization: Bearerx ${adminToken}`,
    `Authorization: Bearer\u00A0${adminToken}`,
    `Proxy-Authorization: Bearer ${adminToken}`,
    `X-Authorization: Bearer ${adminToken}`,
    `Cookie: token=${adminToken}`,
  ];
  for (const line of inPlace) {
    const expected = byPrincipal({ prober: 200, reader: 200, operator: 401 });
    await walk(started, [own, line], expected);
  }
  const path = `/api/v1/dead-letters/${ids.letter}?access_token=${adminToken}`;
  assert.equal((await started.admin.send('GET', path, [own])).status, 401);
});

test('the right bearer opens everything, its scheme in any case', async () => {
  await using started = await start();
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer ']) {
    for (const operation of started.operations) {
      const { method, path } = operation;
      const { head: more, body } = requestOf(operation, revision);
      const head = [own, `Authorization: ${scheme} ${adminToken}`, ...more];
      const { status } = await started.admin.send(method, pathOf({ path }), head, body);
      assert.equal(status, 200, `${scheme} ${method} ${path}`);
    }
  }
});

test('a 401 says which scheme is wanted', async () => {
  await using started = await start();
  for (const more of [[], ['Authorization: Bearer wrong']]) {
    const { headers } = await started.admin.send('GET', '/api/v1/conversations', [own, ...more]);
    assert.equal(headers.get('www-authenticate'), 'Bearer');
  }
});

test('a read-only service says what would switch writing on, whatever bearer comes', async () => {
  const access: OperatorAccess = { kind: 'none', remedy: 'Set ADMIN_TOKEN and restart.' };
  await using started = await start({ access });
  await walk(started, [own], byPrincipal({ prober: 200, reader: 200, operator: 403 }));
  await walk(started, [own, right], byPrincipal({ prober: 200, reader: 401, operator: 403 }));
  const { body } = await started.admin.send('DELETE', '/api/v1/senders/webhook/ada', [own]);
  assert.match(body, /"read_only".*Set ADMIN_TOKEN and restart\./);
  const wrong = await started.admin.send('GET', '/api/v1/status', [own, right]);
  assert.match(wrong.body, /No bearer is right here\. Set ADMIN_TOKEN/);
});

test('an unknown host, or two hosts, is 421 even with the right bearer', async () => {
  await using started = await start();
  for (const host of ['Host: evil.example', `${own}\r\n${own}`, 'Host: localhost.evil.example']) {
    for (const bearer of [[], [right]]) {
      const expected = byPrincipal({ prober: 200, reader: 421, operator: 421 });
      await walk(started, [host, ...bearer], expected);
    }
  }
});

test('a write from a foreign page is refused, even with the right bearer', async () => {
  await using started = await start({ access: withToken, allowedHosts: ['svc.example'] });
  const { admin, world } = started;
  const path = `/api/v1/dead-letters/${ids.letter}/discard`;
  const write = async (...lines: string[]): Promise<number> =>
    (await admin.send('POST', path, [right, ...lines])).status;
  const here = 'Host: 127.0.0.1:2112';
  const foreign = [
    'Origin: https://evil.example',
    'Origin: null',
    'Origin: http://127.0.0.1:3000',
    'Origin: http://localhost:2112',
    'Origin: http://127.0.0.1:2112.evil.example',
    'Origin: http://127.0.0.1:2112/',
    'Origin: http://a@127.0.0.1:2112',
    'Origin: file://127.0.0.1:2112',
    'Origin:',
    'Origin: http://127.0.0.1:2112\r\nOrigin: http://127.0.0.1:2112',
    'Origin: http://127.0.0.1:2112 https://evil.example',
    'Sec-Fetch-Site: cross-site',
    'Sec-Fetch-Site: Cross-Site',
    'Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site',
    'Origin: http://127.0.0.1:2112\r\nSec-Fetch-Site: cross-site',
  ];
  for (const line of foreign) assert.equal(await write(here, line), 403, line);
  assert.equal(world.calls.length, 0);
  const asked = await admin.send('POST', path, [here, right, foreign[0]!]);
  assert.match(asked.body, /"cross_site"/);
  assert.equal(await write(here, 'Origin: http://127.0.0.1:2112'), 200);
  assert.equal(await write('Host: LOCALHOST:80', 'Origin: http://localhost:80'), 200);
  assert.equal(await write(here, 'Origin: https://svc.example'), 200, 'a proxy changed the host');
  assert.equal(await write(here, 'Sec-Fetch-Site: same-origin'), 200);
  const read = await admin.send('GET', '/api/v1/conversations', [here, right, foreign[0]!]);
  assert.equal(read.status, 200, 'only writes are refused');
  assert.equal(read.headers.get('access-control-allow-origin'), null);
});

test('a method that a path does not take is 405, and Allow names those that it takes', async () => {
  await using started = await start();
  const { admin, api } = started;
  for (const [path, methods] of Object.entries(api.paths)) {
    const taken = Object.keys(methods).map((method) => method.toUpperCase());
    const allow = taken.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
      if (taken.includes(method === 'HEAD' ? 'GET' : method)) continue;
      const { status, headers } = await admin.send(method, pathOf({ path }), [own, right]);
      assert.equal(status, 405, `${method} ${path}`);
      assert.equal(headers.get('allow'), allow, path);
    }
  }
  assert.equal(started.world.calls.length, 0);
});

test('a path that is nearly one of the table is 404', async () => {
  await using started = await start();
  for (const { path } of started.operations) {
    const there = pathOf({ path });
    for (const near of [
      `${there}/`,
      `${there}/x`,
      `/${there}`,
      there.toUpperCase(),
      `${there};a`,
    ]) {
      const { status } = await started.admin.send('GET', near, [own, right]);
      const isOther = path.endsWith('}') && !/\/$|\/x$|^\/\//.test(near);
      if (!isOther) assert.ok(status === 404 || status === 405, `${near}: ${status}`);
    }
  }
  for (const path of [
    '/api/v1/messages/',
    '/api/v1/messages//text',
    '/api/v1/dead%2Dletters',
    '*',
  ]) {
    const before = started.world.calls.length;
    assert.equal((await started.admin.send('GET', path, [own, right])).status, 404, path);
    assert.equal(started.world.calls.length, before, path);
  }
});

test('a parameter that is malformed or too long is 400 and names itself', async () => {
  await using started = await start();
  const { admin, world } = started;
  const cases = [
    ['/api/v1/messages/%', 'id'],
    ['/api/v1/messages/%zz', 'id'],
    ['/api/v1/messages/%ff', 'id'],
    ['/api/v1/messages/%c0%af', 'id'],
    ['/api/v1/messages/%ed%a0%80/text', 'id'],
    [`/api/v1/messages/${'x'.repeat(1_025)}`, 'id'],
    ['/api/v1/conversations/%/a', 'channel'],
    ['/api/v1/conversations/webhook/%e4/turns', 'conversation'],
    ['/api/v1/senders/webhook/%/turns', 'sender'],
    ['/api/v1/dead-letters?limit=0', 'limit'],
    ['/api/v1/dead-letters?limit=501', 'limit'],
    ['/api/v1/dead-letters?limit=-1', 'limit'],
    ['/api/v1/dead-letters?limit=1e2', 'limit'],
    ['/api/v1/dead-letters?limit=1.5', 'limit'],
    ['/api/v1/dead-letters?limit=', 'limit'],
    ['/api/v1/dead-letters?limit=%31%', 'query'],
    ['/api/v1/dead-letters?limit=99999999999999999999', 'limit'],
    ['/api/v1/dead-letters?limit=1&limit=2', 'limit'],
    ['/api/v1/dead-letters?after=%ff', 'query'],
    [`/api/v1/dead-letters?after=${'x'.repeat(8_193)}`, 'after'],
  ] as const;
  for (const [path, name] of cases) {
    const { status, body } = await admin.send('GET', path, [own, right]);
    assert.equal(status, 400, path);
    const { code, detail } = JSON.parse(body) as { code: string; detail: string };
    assert.equal(code, 'invalid_parameter');
    assert.match(detail, new RegExp(`\\b${name}\\b`));
  }
  assert.equal(world.calls.length, 0);
  assert.equal((await admin.send('GET', '/api/v1/conversations/%/a', [own])).status, 401);
  const endless = `/api/v1/messages/${'x'.repeat(20_000)}`;
  assert.equal((await admin.send('GET', endless, [own])).status, 431);
  for (const id of ['%00', '..%2f..', '%2e%2e', '__proto__', 'constructor', "'%20OR%201=1--"]) {
    assert.equal((await admin.send('GET', `/api/v1/messages/${id}`, [own])).status, 404, id);
  }
});

test('a write whose body is too large, or breaks off, is not done', async () => {
  await using started = await start();
  const { admin, world } = started;
  const path = `/api/v1/dead-letters/${ids.letter}/discard`;
  const send = async (lines: readonly string[], body: string): Promise<number> =>
    (await admin.send('POST', path, [own, right, ...lines], body)).status;
  assert.equal(await send(['Content-Length: 65537'], 'x'.repeat(65_537)), 413);
  const chunk = `${(70_000).toString(16)}\r\n${'x'.repeat(70_000)}\r\n0\r\n\r\n`;
  assert.equal(await send(['Transfer-Encoding: chunked'], chunk), 413);
  const socket = connect(admin.port, '127.0.0.1');
  const head = [`POST ${path} HTTP/1.1`, own, right, 'Content-Length: 9'].join('\r\n');
  socket.end(`${head}\r\n\r\nbroken`);
  const writes = world.events.meters.writes;
  const giveUpAt = Date.now() + 20_000;
  while (writes.get('discard')?.get(400) === undefined) {
    assert.ok(Date.now() < giveUpAt, world.log());
    await new Promise(setImmediate);
  }
  assert.equal(world.calls.length, 0);
  assert.equal(await send(['Content-Length: 65536'], 'x'.repeat(65_536)), 200);
  assert.equal(await send(['Expect: 100-continue', 'Content-Length: 2'], '{}'), 100);
  assert.equal(world.calls.length, 2);
});
