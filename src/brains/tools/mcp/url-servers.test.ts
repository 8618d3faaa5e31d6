/** Servers at a url, honest and hostile, over svc's own client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpMcp } from '../../../../test/fake/mcp/http-server.ts';
import { McpStage, type StageOptions } from '../../../../test/fake/mcp/stage.ts';
import type { EnvName } from '../../../config/secret-value.ts';
import { handClock } from '../../../../test/support/hand-clock.ts';
import { patienceMs, until, within } from '../../../../test/support/waiting.ts';
import { createHttpClient } from '../../../lib/http-client.ts';
import { UrlTransport } from './url-transport.ts';

const tokenEnv = 'FAKE_TOKEN' as EnvName;

async function stageAt(url: string, more: StageOptions = {}): Promise<McpStage> {
  return McpStage.open('honest', { reach: { kind: 'url', url, tokenEnv }, ...more });
}

for (const mode of [
  'honest',
  'stream',
  'stays_open',
  'sessions',
  'no_type',
  'text_type',
  'refuses_notes',
] as const) {
  test(`a server at a url is used, and has the bearer (${mode})`, async () => {
    await using server = await startHttpMcp(mode);
    await using stage = await stageAt(server.url, { secret: 'the-bearer-of-the-test' });
    await stage.up();
    const { text } = await stage.call('mcp_fake_echo', { text: 'the-bearer-of-the-test' });
    assert.equal(text, 'you said: [secret]');
    assert.deepEqual([...server.bearers], ['Bearer the-bearer-of-the-test']);
    assert.equal(
      server.asked.some((one) => one.startsWith('GET')),
      false,
      'no stream is opened',
    );
    await until('no stream is kept', async () => server.open() === 0);
  });
}

test('a tool that is not as the protocol says takes none of the others away', async () => {
  await using server = await startHttpMcp('odd_tools');
  await using stage = await stageAt(server.url, { secret: 'the-bearer-of-the-test' });
  await stage.connected();
  assert.deepEqual([stage.stateOf('echo'), stage.stateOf('picture')], ['announced', 'changed']);
});

test('what a server gives back as a structure alone reaches the model', async () => {
  await using server = await startHttpMcp('structured');
  await using stage = await stageAt(server.url, { secret: 'the-bearer-of-the-test' });
  await stage.up();
  const { text } = await stage.call('mcp_fake_echo', { text: 'the-bearer-of-the-test' });
  assert.equal(text, '{"said":"[secret]"}');
});

test('what a server asks in the middle of a call is told no before the call ends', async () => {
  await using server = await startHttpMcp('asks');
  await using stage = await stageAt(server.url);
  await stage.up();
  const { text } = await stage.call('mcp_fake_echo', { text: 'hello' });
  assert.equal(text, 'told -32601,-32601,-32601: hello');
});

for (const mode of ['sessions', 'sessions_400'] as const) {
  test(`after a restart of a server calls go on in a new session (${mode})`, async () => {
    await using server = await startHttpMcp(mode);
    await using stage = await stageAt(server.url);
    await stage.up();
    const before = stage.warnings.length;
    server.forget();
    const calls = ['one', 'two', 'three'].map((text) => stage.call('mcp_fake_echo', { text }));
    const texts = (await Promise.all(calls)).map(({ text }) => text);
    assert.deepEqual(texts, ['you said: one', 'you said: two', 'you said: three']);
    assert.equal(server.ran(), 3, 'each ran once');
    assert.equal(server.asked.filter((one) => one === 'POST initialize').length, 2);
    assert.equal(stage.warnings.length, before, 'nobody needs to know');
    assert.equal(stage.standing().state, 'up');
  });
}

test('an error of a tool that speaks of a session runs it once, and is told', async () => {
  await using server = await startHttpMcp('fails_400');
  await using stage = await stageAt(server.url);
  await stage.up();
  const { text } = await stage.call('mcp_fake_echo', { text: 'hello' });
  assert.match(text, /the browser session is closed/);
  assert.equal(server.ran(), 1);
  assert.equal(server.asked.filter((one) => one === 'POST initialize').length, 1);
});

test('a server that forgets each session is asked twice at most, and told as that', async () => {
  await using server = await startHttpMcp('forgetful');
  await using stage = await stageAt(server.url);
  await stage.up();
  const { text, use } = await stage.call('mcp_fake_echo', { text: 'hello' });
  assert.equal(use.outcome, 'failed');
  assert.equal(text, 'The call was not run: the server keeps no session.');
  assert.ok(stage.warnings.some((one) => one.includes('has just begun')));
  assert.equal(server.asked.filter((one) => one === 'POST tools/call').length, 2);
});

test('a call that is not answered in time is cancelled, and may have run', async () => {
  await using server = await startHttpMcp('silent_call');
  await using stage = await stageAt(server.url, { timeoutSeconds: 1 });
  await stage.up();
  const { text } = await stage.call('mcp_fake_echo', { text: 'hello' });
  assert.match(text, /did not answer in time\. Whether the call took effect is not known\.$/);
  await until('it is cancelled', async () => {
    return server.asked.includes('POST notifications/cancelled');
  });
});

test('the way to a server has no time of its own to race with that of a call', async () => {
  await using server = await startHttpMcp('silent_call');
  const clock = handClock();
  const http = createHttpClient(clock.deadlines, { connectMs: patienceMs });
  const url = new URL(server.url);
  const own = { url, token: null, nearOnly: true, timeoutMs: 1_000, http, version: '0' };
  const transport = new UrlTransport({ ...own, steady: clock.steady });
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} } as const;
  let isOver = false;
  const sent = transport.send(call).catch(() => (isOver = true));
  await until('it has come', async () => server.ran() === 1);
  const { promise: passed, resolve: pass } = Promise.withResolvers<void>();
  clock.deadlines.at(clock.in(1_000), pass);
  clock.pass(1_000);
  await passed;
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  assert.equal(isOver, false);
  await transport.close();
  await sent;
  await http.close();
});

for (const [mode, said] of [
  ['endless_stream', /did not answer in time\. Whether/],
  ['cut_stream', /closed the connection before its answer was whole .*\. Whether the call took/],
  ['many_events', /sent too many messages in one answer\. Whether/],
  ['huge', /its answer has more than 1 MiB\. Whether/],
  ['garbage', /its answer is no JSON\. Whether/],
  ['html', /answered with a web page \(HTML\)\. Whether/],
] as const) {
  test(`a call of a server at a url that is hostile by ${mode} fails, and says how`, async () => {
    const timeoutSeconds = mode === 'endless_stream' ? 1 : patienceMs / 1_000;
    await using server = await startHttpMcp(mode);
    await using stage = await stageAt(server.url, { timeoutSeconds });
    await stage.up();
    const calling = stage.call('mcp_fake_echo', { text: 'hello' });
    const { text, use } = await within('the end of the call', calling);
    assert.equal(use.outcome, 'failed');
    assert.match(text, said);
    assert.doesNotMatch(text, /hello/);
  });
}

for (const [mode, said] of [
  ['redirect', /^it redirects to another host \(HTTP 307\): write the address/],
  ['redirect_slash', /^it redirects to the same path with a slash \(HTTP 307\): write the address/],
  ['unauthorized', /^it refuses the token \(HTTP 401\): .* token_env$/],
  ['forbidden', /^it forbids the request \(HTTP 403\): .*rights of the token/],
  ['not_found', /^there is nothing at the path of its url \(HTTP 404\): .*\/mcp$/],
  ['get_only', /^it takes no POST .* \(HTTP 405\): .*old transport/],
  ['misdirected', /^it does not serve this name \(HTTP 421\): add 127\.0\.0\.1:\d+ to/],
  ['broken', /^it failed \(HTTP 500\): look into the log/],
  ['other_id', /^its answer ended without a result: /],
  ['old_revision', /^it refuses the revision of the protocol that svc speaks: update the server$/],
  ['old_revision_400', /^it refuses the revision of the protocol .* \(HTTP 400\): update the/],
  ['next_revision', /^it speaks a revision of the protocol that svc does not know: update svc$/],
] as const) {
  test(`a server at a url that is hostile by ${mode} is down, and says why`, async () => {
    await using elsewhere = await startHttpMcp('honest');
    await using server = await startHttpMcp(mode, elsewhere.url.replace('127.0.0.1', 'localhost'));
    await using stage = await stageAt(server.url);
    await until('it is down', async () => stage.standing().state === 'down');
    assert.match(stage.standing().reason!, said);
    assert.ok(stage.warnings.some((one) => one.includes(stage.standing().reason!)));
    assert.deepEqual(stage.announced(), []);
    assert.deepEqual(elsewhere.asked, []);
  });
}

test('a server that is not there is told as that, also one that went away', async () => {
  const server = await startHttpMcp('honest');
  await using stage = await stageAt(server.url);
  await stage.up();
  await server[Symbol.asyncDispose]();
  const { text } = await stage.call('mcp_fake_echo', { text: 'hello' });
  assert.match(text, /^The call failed: nothing listens there \(ECONNREFUSED\)\. .* not run\.$/);
  const host = new URL(server.url).host;
  const reason = `nothing listens there (ECONNREFUSED): start the server at ${host}`;
  assert.ok(
    stage.warnings.some((one) => one.includes(reason)),
    stage.warnings.join(),
  );
  await using late = await stageAt(server.url);
  await until('it is down', async () => late.standing().state === 'down');
  assert.ok(late.standing().reason!.startsWith(reason));
});

test('in a private turn a server that may be elsewhere is not asked', async () => {
  await using stage = await stageAt('https://mcp.example.invalid/mcp', { sensitivity: 'private' });
  await until('it is down', async () => stage.standing().state === 'down');
  assert.deepEqual(stage.announced(), []);
});
