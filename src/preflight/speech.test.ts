import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../../test/fake/closed-port.ts';
import { startFakeSpeech } from '../../test/fake/speech.ts';
import type { Config } from '../config/config.ts';
import { validateText } from '../config/validate.ts';
import { isMessenger } from '../channel/kinds.ts';
import { systemClock } from '../lib/clock.ts';
import { createDeadlines } from '../lib/deadlines.ts';
import { createHttpClient } from '../lib/http-client.ts';
import type { PreflightLine } from './lines.ts';
import { speechLine } from './speech.ts';

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
  const http = createHttpClient(createDeadlines());
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

test('a speech server that answers is there, and is sent nothing', async () => {
  await using server = await startFakeSpeech('heard');
  const line = await look(configOf(server.url, 'private'));
  assert.equal(line?.mark, 'ok');
  assert.equal(server.heard.length, 0);
});

test('one that is not there is told', async () => {
  const line = await look(configOf(`http://127.0.0.1:${closedPort}/v1`, 'public'));
  assert.equal(line?.mark, 'failed');
  assert.match(line.message, /cannot be reached/);
});

test('one that a private brain may not use is told before anybody speaks', async () => {
  const line = await look(configOf('http://192.0.2.1/v1', 'private'));
  assert.equal(line?.mark, 'failed');
  assert.match(line.message, /cannot be reached: .*(?:near|private|machine)/);
});

test('without one there is nothing to tell', async () => {
  assert.equal(await look(configOf(null, 'public')), null);
});
