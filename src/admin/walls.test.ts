/**
 * The whole route table, asked by callers without the right: each gets the right refusal, and
 * nothing else.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byPrincipal, own, right, startWalk as start, walk } from '../../test/admin/walk.ts';
import { pathOf } from '../../test/fake/admin-ledger.ts';
import { adminToken, revision } from '../../test/fake/admin-world.ts';
import { assertDescribed, doneOf, isTaken, requestOf } from '../../test/admin/open-api.ts';
import type { OperatorAccess } from './http/auth.ts';
import type { Route } from './routes/route.ts';

const outside = byPrincipal({ prober: 200, reader: 200, operator: 401 });
/** The page to sign in on holds no data. A browser that logged in at a proxy gets it with a 200. */
const afterLogin = (route: Route): number =>
  route.kind === 'read' && route.signIn !== undefined ? 200 : outside(route);
const expectedFor = (line: string) =>
  line.startsWith('Authorization: Basic ') ? afterLogin : outside;

test('without a bearer, readers are answered and operators are not', async () => {
  await using started = await start();
  for (const more of [[], ['Authorization: Basic YTpi'], ['Authorization:'], ['Cookie: a=b']]) {
    await walk(started, [own, ...more], expectedFor(more.join()));
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
    await walk(started, [own, line], expectedFor(line));
  }
  const names = ['access_token', 'token', 'Authorization'];
  const query = `?${names.map((name) => `${name}=${adminToken}`).join('&')}`;
  // A route with query parameters refuses an unknown name.
  const filters = ({ principal, parameters = {} }: Route): boolean =>
    principal === 'reader' &&
    Object.values(parameters).some(({ kind }) => kind !== 'segment' && kind !== 'header');
  await walk(started, [own], (route) => (filters(route) ? 400 : outside(route)), query);
});

test('the right bearer opens everything, its scheme in any case', async () => {
  await using started = await start();
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer ']) {
    for (const { operation } of started.stops) {
      const { method, path } = operation;
      const { head: more, body } = requestOf(operation, revision);
      const head = [own, `Authorization: ${scheme} ${adminToken}`, ...more];
      const { status } = await started.admin.send(method, pathOf({ path }), head, body);
      assert.equal(status, doneOf(operation), `${scheme} ${method} ${path}`);
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

test('a method that a path does not take is 405, and Allow names those that it takes', async () => {
  await using started = await start();
  const { admin, api } = started;
  for (const [path, methods] of Object.entries(api.paths)) {
    const taken = Object.keys(methods).map((method) => method.toUpperCase());
    const allow = taken.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
      const asked = method === 'HEAD' ? 'GET' : method;
      if (isTaken(api, pathOf({ path }), asked)) continue;
      const { status, headers } = await admin.send(method, pathOf({ path }), [own, right]);
      assert.equal(status, 405, `${method} ${path}`);
      assert.equal(headers.get('allow'), allow, path);
    }
  }
  assert.equal(started.world.calls.length, 0);
});

test('a path that is nearly one of the table is 404', async () => {
  await using started = await start();
  for (const { path } of started.admin.routes) {
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

test('no value of a path is taken that cannot be decoded or is too long', async () => {
  await using started = await start();
  const { admin, api, stops, world } = started;
  for (const { route, operation } of stops) {
    const { head, body } = requestOf(operation, revision);
    for (const [, name = ''] of route.path.matchAll(/\{(\w+)\}/g)) {
      for (const value of ['%', '%zz', '%ff', '%c0%af', '%ed%a0%80', 'x'.repeat(8_449)]) {
        const path = pathOf({ path: route.path.replace(`{${name}}`, value) });
        const answer = await admin.send(route.method, path, [own, right, ...head], body);
        assert.equal(answer.status, 400, `${route.method} ${path}`);
        assertDescribed(api, operation, answer);
        assert.match(answer.body, new RegExp(`"invalid_parameter".*\\b${name}\\b`));
        const { status } = await admin.send(route.method, path, [own, ...head], body);
        assert.equal(status, route.principal === 'operator' ? 401 : 400, `${path} by others`);
      }
    }
  }
  assert.equal(world.calls.length, 0);
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
    ['/api/v1/dead-letters?after=junk', 'after'],
    ['/api/v1/dead-letters?after=', 'after'],
    ['/api/v1/dead-letters?after=e30', 'after'],
    ['/api/v1/messages?chanel=webhook', 'channel'],
    ['/api/v1/messages?Channel=webhook', 'channel'],
    ['/api/v1/audit?id=1', 'limit'],
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
