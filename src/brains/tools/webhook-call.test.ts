import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { noReserved } from '../../../test/fake/reserved.ts';
import { endless, redirectTo, startWeb, type Web } from '../../../test/fake/web.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { callTool, type Called } from '../../../test/agents/tool-call.ts';
import type { Tool, ToolSurroundings } from './tool.ts';
import { createWebhookCall } from './webhook-call.ts';

const timeoutMs = 20;
/** For an answer that never completes: the test moves its clock when a part of it has come. */
const dripMs = 20;

/** The clock stands still, so that no limit ends a call because the machine is busy. */
function toolFor(allowHosts: readonly string[], { now, steady, deadlines } = handClock()): Tool {
  return createWebhookCall(
    { allowHosts, bytesMax: 100, timeoutMs },
    {
      now,
      steady,
      deadlines,
      resolve: async (name) => (name === 'two.example' ? ['127.0.0.2', '127.0.0.1'] : []),
      reserved: noReserved,
      version: '1.2.3',
    },
  );
}

const post = (
  { origin, port }: Pick<Web, 'origin' | 'port'>,
  path: string,
  body: unknown = {},
  surroundings: Partial<ToolSurroundings> = {},
  clock = handClock(),
): Promise<Called> =>
  callTool(toolFor([`127.0.0.1:${port}`], clock), { url: origin + path, body }, surroundings);

test('any JSON is sent once, with the key of the call, and the answer is told', async () => {
  await using web = await startWeb({
    '/hook': { status: 201, body: 'made' },
    '/empty': { status: 204 },
  });
  for (const body of [{ a: [1, 'ä'] }, [], 'text', '', 7, null, false]) {
    const called = await post(web, '/hook', body, { key: 'm:2:1' });
    assert.deepEqual(called, { kind: 'done', text: 'Status 201:\nmade', cut: false });
    const { headers, ...visit } = web.visits.at(-1)!;
    assert.deepEqual(visit, { method: 'POST', path: '/hook', body: JSON.stringify(body) });
    const { 'content-length': length, ...others } = headers;
    assert.equal(Number(length), Buffer.byteLength(JSON.stringify(body)));
    assert.deepEqual(others, {
      accept: 'application/json, text/*;q=0.9, */*;q=0.1',
      'accept-encoding': 'identity',
      connection: 'close',
      'content-type': 'application/json',
      host: `127.0.0.1:${web.port}`,
      'idempotency-key': 'm:2:1',
      'user-agent': 'svc/1.2.3',
    });
  }
  assert.equal((await post(web, '/empty')).text, 'Status 204.');
  assert.equal(web.connections, 8);
});

test('a status that is no success is a failure, told with its text', async () => {
  await using web = await startWeb({
    '/refused': { status: 422, body: 'x'.repeat(200) },
    '/moved': redirectTo('/hook', 307),
    '/image': { headers: { 'content-type': 'image/png' }, body: 'PNG' },
  });
  assert.deepEqual(await post(web, '/refused'), {
    kind: 'failed',
    text: `Status 422:\n${'x'.repeat(100)}\n[cut: there is more]`,
  });
  const moved = await post(web, '/moved');
  assert.equal(moved.text, 'Status 307, a redirect, which is not followed.');
  assert.equal(moved.kind, 'failed');
  const image = await post(web, '/image');
  assert.equal(image.text, 'Status 200:\nIts content is not text, and was not read.');
  assert.deepEqual(
    web.visits.map(({ path }) => path),
    ['/refused', '/moved', '/image'],
  );
});

test('what became of a call is told as far as it is known, and it is sent once', async () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n';
  const [asked, flowing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using web = await startWeb({
    '/never': () => asked.resolve(),
    '/reset': (socket) => void socket.resetAndDestroy(),
    '/closed': (socket) => void socket.end(),
    '/slow': endless(head, 'x', dripMs, flowing.resolve),
    '/half': (socket) => void socket.end('HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\nhalf'),
  });
  const table = {
    '/never': /^The answer did not come whole in time\. Whether it took effect is not known/,
    '/reset': /^The connection broke off .*\. Whether it took effect is not known; it was not rep/,
    '/closed': /^The connection broke off .*\. Whether it took effect is not known/,
    '/slow': /^The answer did not come whole in time\. The status was 200\.$/,
    '/half': /^The connection broke off .*\. The status was 500\.$/,
  };
  for (const [path, told] of Object.entries(table)) {
    const clock = handClock();
    const calling = post(web, path, {}, {}, clock);
    // The rest of the 100 bytes takes far longer than the call has.
    const late = { '/never': asked, '/slow': flowing }[path];
    if (late !== undefined) {
      await late.promise;
      clock.pass(timeoutMs);
    }
    const called = await calling;
    assert.equal(called.kind, 'failed');
    assert.match(called.text, told, path);
  }
  assert.deepEqual(
    web.visits.map(({ path }) => path),
    Object.keys(table),
  );
  const nobody = { origin: `http://127.0.0.1:${closedPort}`, port: closedPort };
  const { text } = await post(nobody, '/');
  assert.match(text, /^No connection .*\(ECONNREFUSED\)\. Nothing was sent/);
});

test('a broken connection is not tried again at the next address of a name', async () => {
  const reset = { '/': (socket: { resetAndDestroy(): unknown }) => void socket.resetAndDestroy() };
  await using web = await startWeb(reset);
  const tool = toolFor(['two.example', 'localhost']);
  const called = await callTool(tool, { url: `http://two.example:${web.port}/`, body: 1 });
  assert.match(called.text, /Whether it took effect is not known/);
  assert.equal(web.visits.length, 1, '127.0.0.2 refused the connection; 127.0.0.1 was asked once');
});

test('a refusal says that nothing was sent', async () => {
  await using web = await startWeb();
  const tool = toolFor(['hooks.example']);
  const called = await callTool(tool, { url: web.origin, body: 1 });
  assert.ok(called.kind === 'refused' && called.rule === 'host_not_listed');
  assert.match(called.text, /^Nothing was sent\. The host 127\.0\.0\.1:\d+ is not on the list/);
  assert.equal(web.connections, 0);
});

test('a url that is no text, and a body beyond its bound, are not sent', async () => {
  const tool = toolFor(['127.0.0.1']);
  for (const args of [
    { url: 5, body: 1 },
    { url: 'http://127.0.0.1/', body: 'x'.repeat(2 ** 20) },
  ]) {
    assert.equal((await callTool(tool, args)).kind, 'invalid');
  }
});
