/** Routes with a body: a foreign, broken or too large request changes nothing. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { own, right, startWalk, type Stop, type Walk } from '../../test/admin/walk.ts';
import { ids, pathOf } from '../../test/fake/admin-ledger.ts';
import { adminToken, revision, withToken, type Reply } from '../../test/fake/admin-world.ts';
import { assertDescribed, doneOf, requestOf } from '../../test/admin/open-api.ts';
import { until } from '../../test/support/waiting.ts';
import { strayBytesMax } from './http/request-guard.ts';

const here = 'Host: 127.0.0.1:2112';
const asJson = 'Content-Type: application/json';

/** All routes but the reads. */
const acts = ({ stops }: Walk): readonly Stop[] =>
  stops.filter(({ route }) => route.kind !== 'read');

const bodyOf = ({ route }: Stop) => (route.kind === 'read' ? undefined : route.body);
const matchOf = ({ route }: Stop): readonly string[] =>
  route.kind === 'write' && route.ifMatch !== undefined ? [`If-Match: "${revision}"`] : [];

/** The request that the route wants, with these lines before its own. */
function ask({ admin }: Walk, { operation }: Stop, head: readonly string[]): Promise<Reply> {
  const { head: more, body } = requestOf(operation, revision);
  return admin.send(operation.method, pathOf(operation), [...head, ...more], body);
}

const isOnlyHere = ({ route }: Stop): boolean => route.kind === 'write' && route.onlyHere === true;

function codeOf({ body }: Reply): string {
  return (JSON.parse(body) as { code: string }).code;
}

/** Sends these lines and this body, and expects this refusal and no change. */
async function refused(
  walked: Walk,
  { operation }: Stop,
  [head, body]: readonly [readonly string[], string],
  [status, code]: readonly [number, string],
): Promise<void> {
  const before = walked.world.calls.length;
  const { method, path } = operation;
  const answer = await walked.admin.send(method, pathOf(operation), [own, right, ...head], body);
  const where = `${method} ${path} with ${head.join(', ')}: ${answer.body}`;
  assert.deepEqual([answer.status, codeOf(answer)], [status, code], where);
  assertDescribed(walked.api, operation, answer);
  assert.equal(walked.world.calls.length, before, `${where} did something`);
}

test('nothing that a foreign page sends is done, even with the right bearer', async () => {
  await using walked = await startWalk({ access: withToken, allowedHosts: ['svc.example'] });
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
  for (const stop of acts(walked)) {
    for (const line of foreign) {
      const answer = await ask(walked, stop, [here, right, line]);
      const where = `${stop.route.method} ${stop.route.path} with ${line}`;
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'cross_site'], where);
      assertDescribed(walked.api, stop.operation, answer);
    }
  }
  assert.equal(walked.world.calls.length, 0);
});

test('what a page of our own sends is done', async () => {
  await using walked = await startWalk({ access: withToken, allowedHosts: ['svc.example'] });
  for (const stop of acts(walked)) {
    for (const lines of [
      [here, 'Origin: http://127.0.0.1:2112'],
      ['Host: LOCALHOST:80', 'Origin: http://localhost:80'],
      [here, 'Sec-Fetch-Site: same-origin'],
    ]) {
      const { status } = await ask(walked, stop, [right, ...lines]);
      const where = `${stop.route.method} ${stop.route.path} with ${lines.join()}`;
      assert.equal(status, doneOf(stop.operation), where);
    }
  }
});

test('through a proxy a page of our own does all but what is for this machine alone', async () => {
  await using walked = await startWalk({ access: withToken, allowedHosts: ['svc.example'] });
  const { world } = walked;
  const ways = [
    // A proxy changed the host.
    [here, 'Origin: https://svc.example'],
    ['Host: svc.example'],
    [here, 'Forwarded: for=192.0.2.60'],
    [here, 'Via: 1.1 proxy'],
    [here, 'X-Forwarded-For: 192.0.2.60'],
    [here, 'X-Forwarded-Host: svc.example'],
    [here, 'X-Real-IP: 192.0.2.60'],
  ];
  assert.equal(acts(walked).filter(isOnlyHere).length, 2);
  for (const stop of acts(walked)) {
    for (const lines of ways) {
      const before = world.calls.length;
      const answer = await ask(walked, stop, [right, ...lines]);
      const where = `${stop.route.method} ${stop.route.path} with ${lines.join()}`;
      assertDescribed(walked.api, stop.operation, answer);
      if (!isOnlyHere(stop)) {
        assert.equal(answer.status, doneOf(stop.operation), where);
        continue;
      }
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'loopback_only'], where);
      assert.equal(world.calls.length, before, `${where} did something`);
    }
  }
});

test('where the admin server listens for others, what is for this machine is refused', async () => {
  await using walked = await startWalk({ access: withToken, loopback: false });
  for (const stop of acts(walked).filter(isOnlyHere)) {
    const answer = await ask(walked, stop, [right, here]);
    assert.deepEqual([answer.status, codeOf(answer)], [403, 'loopback_only']);
  }
  assert.equal(walked.world.calls.length, 0);
  assert.deepEqual(
    walked.world.audited!.map(({ action, target, status }) => [action, target, status]),
    [
      ['secret_set', { name: ids.variable }, 403],
      ['secret_deleted', { name: ids.variable }, 403],
    ],
  );
});

test('a read that a foreign page asks for is kept from it', async () => {
  await using walked = await startWalk();
  for (const stop of walked.stops.filter(({ route }) => route.kind === 'read')) {
    const lines = [here, right, 'Origin: https://evil.example', 'Sec-Fetch-Site: cross-site'];
    const { headers } = await ask(walked, stop, lines);
    for (const name of headers.keys()) assert.doesNotMatch(name, /^access-control/);
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin', stop.route.path);
  }
});

test('a method is what its line says, whatever a header or the query asks for', async () => {
  await using walked = await startWalk();
  const { admin, world } = walked;
  for (const { operation } of acts(walked)) {
    const { method } = operation;
    const lines = [`X-HTTP-Method-Override: ${method}`, `X-HTTP-Method: ${method}`];
    const path = `${pathOf(operation)}?_method=${method}`;
    const writes = world.events.meters.writes.size;
    const { status } = await admin.send('GET', path, [own, right, ...lines]);
    // 404: the last segment is also an id, of a conversation that does not exist.
    assert.ok([200, 404, 405].includes(status), `${method} ${path}: ${status}`);
    assert.equal(world.events.meters.writes.size, writes, `${method} ${path}`);
  }
});

test('too large a body is refused, told before or not, and no sooner than the bearer', async () => {
  await using walked = await startWalk();
  for (const stop of acts(walked)) {
    const most = bodyOf(stop)?.bytesMax ?? strayBytesMax;
    const tooLarge = [413, 'body_too_large'] as const;
    const head = [...matchOf(stop), asJson];
    await refused(walked, stop, [[...head, `Content-Length: ${most + 1}`], ''], tooLarge);
    const text = 'x'.repeat(most + 1);
    const chunks = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    await refused(walked, stop, [[...head, 'Transfer-Encoding: chunked'], chunks], tooLarge);
    const { method } = stop.operation;
    const lines = [own, asJson, `Content-Length: ${most + 1}`];
    const without = await walked.admin.send(method, pathOf(stop.operation), lines);
    assert.equal(without.status, 401, stop.route.path);
  }
});

test('a body that is not what the route takes is refused', async () => {
  await using walked = await startWalk();
  for (const stop of acts(walked)) {
    const wanted = bodyOf(stop);
    if (wanted === undefined) continue;
    const { body } = requestOf(stop.operation, revision);
    const sent = (text: string, ...types: string[]) =>
      [[...matchOf(stop), ...types, `Content-Length: ${Buffer.byteLength(text)}`], text] as const;
    for (const types of [
      [],
      ['Content-Type: text/plain'],
      ['Content-Type: application/x-www-form-urlencoded'],
      ['Content-Type: application/json; charset=utf-16'],
      [asJson, asJson],
    ]) {
      await refused(walked, stop, sent(body, ...types), [415, 'unsupported_media_type']);
    }
    if (wanted.kind !== 'json') continue;
    for (const text of ['', '{', 'null x', body.slice(0, -1), `${body}${body}`]) {
      await refused(walked, stop, sent(text, asJson), [400, 'invalid_json']);
    }
    for (const text of ['null', '1', '"a"', '[]']) {
      await refused(walked, stop, sent(text, asJson), [400, 'invalid_field']);
    }
  }
});

test('what must say which revision it changes is refused without', async () => {
  await using walked = await startWalk();
  for (const stop of acts(walked)) {
    const { head, body } = requestOf(stop.operation, revision);
    const rest = head.filter((line) => !line.startsWith('If-Match'));
    if (rest.length === head.length) continue;
    await refused(walked, stop, [rest, body], [428, 'if_match_required']);
    for (const tag of ['', '*', revision, `W/"${revision}"`, `"${revision}", "b"`, '"', '"a"b"']) {
      const lines = [...rest, `If-Match: ${tag}`];
      await refused(walked, stop, [lines, body], [400, 'invalid_if_match']);
    }
    const twice = [...head, `If-Match: "${revision}"`];
    await refused(walked, stop, [twice, body], [400, 'invalid_if_match']);
  }
});

test('a bearer that is withdrawn is wrong on a connection of before, too', async () => {
  let isWithdrawn = false;
  const matches = (token: string): boolean => !isWithdrawn && token === adminToken;
  await using walked = await startWalk({ access: { kind: 'bearer', matches } });
  const socket = connect(walked.admin.port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  const say = (): unknown =>
    socket.write(`GET /api/v1/audit HTTP/1.1\r\n${own}\r\n${right}\r\n\r\n`);
  say();
  await until('200', () => text.startsWith('HTTP/1.1 200 '));
  isWithdrawn = true;
  say();
  await until('401', () => text.includes('HTTP/1.1 401 '));
  socket.destroy();
});

test('what is on its way when its bearer is withdrawn is not done', async () => {
  let isWithdrawn = false;
  const matches = (token: string): boolean => !isWithdrawn && token === adminToken;
  await using walked = await startWalk({ access: { kind: 'bearer', matches } });
  for (const stop of acts(walked)) {
    if (stop.route.principal === 'prober') continue;
    const before = walked.world.calls.length;
    const { method, path } = stop.operation;
    const { body } = requestOf(stop.operation, revision);
    const sent = body === '' ? '{}' : body;
    const length = `Content-Length: ${Buffer.byteLength(sent)}`;
    const lines = [own, right, ...matchOf(stop), asJson, length, 'Expect: 100-continue'];
    const socket = connect(walked.admin.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    socket.write(`${method} ${pathOf({ path })} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    await until('100 Continue', () => text.startsWith('HTTP/1.1 100 '));
    isWithdrawn = true;
    socket.write(sent);
    await until('the answer', () => text.lastIndexOf('HTTP/1.1 ') > 0);
    socket.destroy();
    isWithdrawn = false;
    assert.match(text, /^HTTP\/1\.1 401 /m, path);
    assert.equal(walked.world.calls.length, before, `${path} did something`);
  }
});

test('what breaks off before its end is not done', async () => {
  await using walked = await startWalk();
  const { admin, world } = walked;
  for (const stop of acts(walked)) {
    const { method, path } = stop.operation;
    const lines = [own, right, ...matchOf(stop), asJson, 'Content-Length: 9'];
    const socket = connect(admin.port, '127.0.0.1');
    socket.end(`${method} ${pathOf({ path })} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\nbroken`);
    socket.resume();
    await new Promise((resolve) => socket.on('close', resolve));
    if (stop.route.kind !== 'write') continue;
    const { action } = stop.route;
    const { writes } = world.events.meters;
    await until(`a refused ${action}`, () => writes.get(action)?.get(400) !== undefined);
  }
  assert.equal(world.calls.length, 0);
});

test('a body that nobody wants may come along, and its client may wait to be asked', async () => {
  await using walked = await startWalk();
  const { admin } = walked;
  for (const stop of acts(walked).filter((one) => bodyOf(one) === undefined)) {
    const { method } = stop.operation;
    const send = (lines: readonly string[], body: string): Promise<Reply> =>
      admin.send(method, pathOf(stop.operation), [own, right, ...matchOf(stop), ...lines], body);
    const most = 'x'.repeat(strayBytesMax);
    const { status } = await send([`Content-Length: ${strayBytesMax}`], most);
    assert.equal(status, doneOf(stop.operation));
    assert.equal((await send(['Expect: 100-continue', 'Content-Length: 2'], '{}')).status, 100);
  }
});
