/** Servers at a url, honest and hostile, over svc's own client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpMcp, type HttpMode } from '../../../test/fake/mcp/http-server.ts';
import { McpStage, type StageOptions } from '../../../test/fake/mcp/stage.ts';
import type { EnvName } from '../../config/config.ts';
import { until, within } from '../../../test/support/waiting.ts';

const tokenEnv = 'FAKE_TOKEN' as EnvName;

async function stageAt(url: string, more: StageOptions = {}): Promise<McpStage> {
  return McpStage.open('honest', { reach: { kind: 'url', url, tokenEnv }, ...more });
}

for (const mode of ['honest', 'stream'] as const) {
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

for (const mode of ['endless_stream', 'many_events', 'huge', 'garbage'] as const) {
  test(`a call of a server at a url that is hostile by ${mode} fails in time`, async () => {
    await using server = await startHttpMcp(mode);
    await using stage = await stageAt(server.url, { timeoutSeconds: 1 });
    await stage.up();
    const calling = stage.call('mcp_fake_echo', { text: 'hello' });
    const { text, use } = await within('the end of the call', calling);
    assert.equal(use.outcome, 'failed');
    assert.doesNotMatch(text, /hello/);
  });
}

for (const mode of ['redirect', 'unauthorized', 'other_id'] as const satisfies HttpMode[]) {
  test(`a server at a url that is hostile by ${mode} is down`, async () => {
    await using elsewhere = await startHttpMcp('honest');
    await using server = await startHttpMcp(mode, elsewhere.url);
    await using stage = await stageAt(server.url, { timeoutSeconds: 1, initMs: 500 });
    await until('it is down', async () => stage.standing().state === 'down');
    assert.deepEqual(stage.announced(), []);
    assert.deepEqual(elsewhere.asked, []);
  });
}

test('in a private turn a server that may be elsewhere is not asked', async () => {
  await using stage = await stageAt('https://mcp.example.invalid/mcp', { sensitivity: 'private' });
  await until('it is down', async () => stage.standing().state === 'down');
  assert.deepEqual(stage.announced(), []);
});
