import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { startFakeSpeech } from '../../../test/fake/speech.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { Config } from '../../config/config.ts';
import { validateText } from '../../config/validate.ts';
import { isMessenger } from '../../channels/registry.ts';
import { systemClock } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import type { PreflightLine } from './lines.ts';
import { speechLine } from './preflight.ts';

function configOf(url: string | null, sensitivity: 'public' | 'private'): Config {
  const model = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
  const policy = { kind: 'priority' };
  const validation = validateText(
    JSON.stringify({
      channels: [
        {
          type: 'messenger_a',
          mode: 'polling',
          token_env: 'T',
          ...(url !== null && { speech: { base_url: url, model: 'small' } }),
        },
      ],
      brains: [{ name: 'ears', sensitivity, policy, models: [model] }],
      routes: [{ channel: 'messenger_a', brain: 'ears' }],
    }),
  );
  assert.ok(validation.kind === 'valid', JSON.stringify(validation));
  return validation.config;
}

async function look(config: Config): Promise<PreflightLine | null> {
  const http = createHttpClient(createDeadlines(), { connectMs: patienceMs });
  const pictures = {
    remake: () => assert.fail('it was handed a picture'),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const [channel] = config.channels;
  assert.ok(channel !== undefined && isMessenger(channel));
  try {
    return await speechLine(channel, config, { http, pictures, steady: systemClock.steady });
  } finally {
    await http.close();
  }
}

for (const said of ['', 'Thank you.']) {
  test(`a server that hears "${said}" in a moment of silence writes things down`, async () => {
    await using server = await startFakeSpeech(said);
    const line = await look(configOf(server.url, 'private'));
    assert.equal(line?.mark, 'ok');
    const [heard, ...more] = server.heard;
    assert.deepEqual([heard?.model, heard?.type, more.length], ['small', 'audio/wav', 0]);
    assert.ok(heard!.bytes.length < 10_000);
    assert.deepEqual([...new Set(heard!.bytes.subarray(44))], [0], 'nobody says anything');
  });
}

const noModel = '{"error":{"message":"The model `small` does not exist.","code":null}}';
const notInstalled = '{"detail":"Model \'small\' is not installed locally."}';

for (const [status, body, mark, said] of [
  [401, '{}', 'failed', /the key or token was refused/],
  [403, '{}', 'failed', /the key or token was refused/],
  [404, noModel, 'failed', /does not have that model/],
  [404, notInstalled, 'failed', /does not have that model/],
  [400, '{"detail":"Unknown model: small"}', 'failed', /does not have that model/],
  [422, '{"detail":[{"loc":["body","file"]}]}', 'failed', /refused as invalid/],
  [405, '<h1>Method Not Allowed</h1>', 'failed', /nothing at that address takes POST/],
  [200, '<h1>It works!</h1>', 'failed', /could not be understood/],
  [500, '{}', 'failed', /server error/],
  [503, '{"error":"Loading model"}', 'warning', /busy or still starting/],
] as const) {
  test(`one that answers ${status} ${body} is told with what is wrong`, async () => {
    await using server = await startFakeSpeech({ status, body });
    const line = await look(configOf(server.url, 'public'));
    assert.equal(line?.mark, mark);
    assert.match(line.message, said);
    assert.match(line.remedy!, /\.$/);
  });
}

test('a base_url that lacks /v1 is told', async () => {
  await using server = await startFakeSpeech('heard');
  const line = await look(configOf(server.url.replace('/v1', ''), 'public'));
  assert.equal(line?.mark, 'failed');
  assert.match(line.message, /takes POST …\/audio\/transcriptions/);
  assert.match(line.remedy!, /\/v1/);
});

test('one that is not there is told', async () => {
  const line = await look(configOf(`http://127.0.0.1:${closedPort}/v1`, 'public'));
  assert.equal(line?.mark, 'failed');
  assert.match(line.message, /could not be reached/);
});

test('one that a private brain may not use is told before anybody speaks', async () => {
  const line = await look(configOf('http://192.0.2.1/v1', 'private'));
  assert.equal(line?.mark, 'failed');
  assert.match(line.message, /it gets no private text/);
});

test('without one there is nothing to tell', async () => {
  assert.equal(await look(configOf(null, 'public')), null);
});
