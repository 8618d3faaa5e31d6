/** Models against a mock server by others, on both wires. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { createSpeech } from '../../src/pipeline/attachments/speech/openai-speech.ts';
import { fromNow } from '../support/hand-clock.ts';
import { Bench, failedKind, neverStopped, requestOf } from '../contract/model.ts';

const kinds = [
  { provider: 'local_runtime', modelId: 'llama3', base: '' },
  { provider: 'hosted_runtime', modelId: 'gpt-test', base: '/v1' },
] as const;

const say = (text: string): ReturnType<typeof requestOf> =>
  requestOf({ lines: [{ role: 'user', text }], deadlineAt: fromNow(60_000) });

for (const kind of kinds) {
  suite(`a ${kind.provider} model against aimock`, () => {
    const mock = new LLMock({ port: 0 });
    mock.onMessage('hello', { content: 'Hi there!' });
    mock.onMessage('too many', { error: { message: 'slow down' }, status: 429, retryAfter: 3 });
    mock.onMessage('broken', { error: { message: 'broken' }, status: 500 });
    mock.onMessage('garbled', { content: 'x' }, { chaos: { malformedRate: 1 } });
    mock.onMessage('cut off', { content: 'x' }, { chaos: { disconnectRate: 1 } });

    test('answers as scripted, and fails as named', async () => {
      await mock.start();
      try {
        await using bench = new Bench();
        const model = bench.build(kind, mock.url + kind.base, { timeoutMs: 60_000 });
        const answer = await model.ask(say('hello'), neverStopped);
        assert.ok(answer.kind === 'answer');
        assert.equal(answer.text, 'Hi there!');
        const expected = {
          'too many': 'rate_limited',
          broken: 'server_error',
          garbled: 'malformed_answer',
          'cut off': 'connection_lost',
          'nothing matches this': 'not_found',
        };
        for (const [text, failure] of Object.entries(expected)) {
          const outcome = await model.ask(say(text), neverStopped);
          assert.equal(failedKind(outcome), failure, text);
          if (outcome.kind === 'failed' && failure === 'rate_limited') {
            assert.equal(outcome.failure.retryAfterMs, 3_000);
          }
        }
      } finally {
        await mock.stop();
      }
    });
  });
}

suite('pictures and speech against aimock', () => {
  const mock = new LLMock({ port: 0 });
  mock.onMessage('what is it?', { content: 'A cat.' });
  mock.onTranscription({ transcription: { text: 'Buy milk.' } });

  for (const kind of kinds) {
    test(`a ${kind.provider} model is asked about a picture`, async () => {
      await mock.start();
      try {
        await using bench = new Bench();
        const more = { timeoutMs: 60_000, vision: true };
        const model = bench.build(kind, mock.url + kind.base, more);
        const picture = { type: 'image/png', bytes: Uint8Array.from([137, 80, 78, 71]) } as const;
        const lines = [{ role: 'user', text: 'what is it?', pictures: [picture] }] as const;
        const request = requestOf({ lines, deadlineAt: fromNow(60_000) });
        const answer = await model.ask(request, neverStopped);
        assert.ok(answer.kind === 'answer' && answer.text === 'A cat.', JSON.stringify(answer));
      } finally {
        await mock.stop();
      }
    });
  }

  test('what is spoken is written down', async () => {
    await mock.start();
    const http = createHttpClient(createDeadlines());
    try {
      const speech = createSpeech({ baseUrl: `${mock.url}/v1`, model: 'whisper-1', http });
      const heard = await speech.transcribe(
        {
          bytes: Uint8Array.from([79, 103, 103, 83]),
          type: 'audio/ogg',
          name: 'voice.ogg',
          sensitivity: 'private',
          deadlineAt: fromNow(60_000),
        },
        neverStopped,
      );
      assert.deepEqual(heard, { kind: 'heard', text: 'Buy milk.' });
    } finally {
      await http.close();
      await mock.stop();
    }
  });
});
