import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeSpeech, type SpeechAnswer } from '../../../../test/fake/speech.ts';
import { closedPort } from '../../../../test/fake/closed-port.ts';
import { fromNow } from '../../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';
import { createDeadlines } from '../../../lib/deadlines.ts';
import { createHttpClient } from '../../../lib/http-client.ts';
import { Stopper } from '../../../lib/stop.ts';
import { createSpeech } from './openai-speech.ts';
import type { Spoken, Transcript } from './speech.ts';

const spoken: Spoken = {
  bytes: Uint8Array.from([79, 103, 103, 83, 0, 255]),
  type: 'audio/ogg',
  name: 'voice.ogg',
  sensitivity: 'public',
  deadlineAt: fromNow(patienceMs),
};

async function hear(
  baseUrl: string,
  more: Partial<Spoken> = {},
  stop = new Stopper(),
): Promise<Transcript> {
  const http = createHttpClient(createDeadlines(), { connectMs: patienceMs });
  try {
    return await createSpeech({ baseUrl, model: 'small', http }).transcribe(
      { ...spoken, ...more },
      stop,
    );
  } finally {
    await http.close();
  }
}

test('what is spoken goes out as a file, and comes back as a text', async () => {
  await using server = await startFakeSpeech('  Buy milk.\n');
  assert.deepEqual(await hear(server.url), { kind: 'heard', text: 'Buy milk.' });
  const { bytes, type, name } = spoken;
  assert.deepEqual(server.heard, [{ model: 'small', name, type, bytes }]);
});

test('no more is taken down than a model is to read', async () => {
  await using server = await startFakeSpeech('a'.repeat(30_000));
  const heard = await hear(server.url);
  assert.ok(heard.kind === 'heard');
  assert.match(heard.text, /^a{20000} \[… cut: the first 20,000 of [\d,]+ characters\]$/);
});

const answers: readonly (readonly [SpeechAnswer, string])[] = [
  [{ status: 200, body: '{"text":" "}' }, 'empty_answer'],
  [{ status: 200, body: '{"words":[]}' }, 'malformed_answer'],
  [{ status: 200, body: 'a page' }, 'malformed_answer'],
  [{ status: 400, body: '{"error":"upstream"}' }, 'rejected'],
  [{ status: 401, body: '' }, 'unauthorized'],
  [{ status: 404, body: '' }, 'not_found'],
  [{ status: 429, body: '' }, 'rate_limited'],
  [{ status: 500, body: '' }, 'server_error'],
  [{ status: 503, body: '' }, 'overloaded'],
];

for (const [answer, kind] of answers) {
  test(`${JSON.stringify(answer)} is ${kind}`, async () => {
    await using server = await startFakeSpeech(answer);
    const heard = await hear(server.url);
    assert.ok(heard.kind === 'failed');
    assert.equal(heard.failure.kind, kind);
    assert.doesNotMatch(JSON.stringify(heard), /upstream/);
  });
}

test('a server that is not there is a failure', async () => {
  const heard = await hear(`http://127.0.0.1:${closedPort}/v1`);
  assert.ok(heard.kind === 'failed' && heard.failure.kind === 'connect_failed');
});

test('what is private goes to near addresses alone', async () => {
  const heard = await hear('http://192.0.2.1/v1', { sensitivity: 'private' });
  assert.ok(heard.kind === 'failed' && heard.failure.kind === 'far_address');
});

test('it ends when it is told to', async () => {
  await using server = await startFakeSpeech({ hangs: true });
  const stop = new Stopper();
  const hearing = hear(server.url, {}, stop);
  while (server.heard.length === 0) await new Promise(setImmediate);
  stop.stop();
  const heard = await hearing;
  assert.ok(heard.kind === 'failed' && heard.failure.kind === 'cancelled');
});
