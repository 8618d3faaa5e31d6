import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../lib/clock.ts';
import type { Reply } from '../../domain/reply.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { createListeners } from '../../lib/listener.ts';
import { testChannel, type ChannelBench } from '../../../test/contract/channel.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { startReceiver } from '../../../test/fake/receiver.ts';
import {
  exchange,
  noteAccept,
  noteEvents,
  post,
  secret,
  webhookConfig,
} from '../../../test/fake/webhook.ts';
import { freePort } from '../../../test/support/program.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { createWebhookChannel, type WebhookChannel } from './webhook.ts';

type Deps = AsyncDisposable & { make(url: string, port?: number): WebhookChannel };

function createDeps(): Deps {
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const { events } = noteEvents();
  const listeners = createListeners();
  return {
    make(outboundUrl, port = 0) {
      const text = `127.0.0.1:${port}`;
      const bind = { host: '127.0.0.1', port, text, loopback: true, given: true };
      const config = webhookConfig({ bind, outboundUrl });
      const bearerChecks = new Map();
      const rest = {
        listeners,
        bearerChecks,
        http,
        events,
        deadlines,
        ...systemClock,
        version: '1.2.3',
      };
      return createWebhookChannel({
        config,
        secret,
        outboundSecret: null,
        signingKey: null,
        ...rest,
      });
    },
    [Symbol.asyncDispose]: () => http.close(),
  };
}

const reply = {
  id: 'r1',
  inReplyTo: 'm1',
  conversation: 'ann',
  address: { channel: 'webhook', target: '"ann"' },
  brain: 'helper',
  text: 'hi',
  createdAt: 0,
  sessionStarted: null,
} as unknown as Reply;

async function startBench(): Promise<ChannelBench> {
  const receiver = await startReceiver();
  const deps = createDeps();
  const channel = deps.make(receiver.url);
  // The receiver already listens there.
  const hopeless = deps.make(receiver.url, Number(new URL(receiver.url).port));
  return {
    channel,
    hopeless,
    reply,
    shown: () => ({ text: String(receiver.received.at(-1)?.body['text']), presses: [] }),
    hasButtons: false,
    cutOff: deps.make(`http://127.0.0.1:${closedPort}/`),
    async [Symbol.asyncDispose]() {
      await channel[Symbol.asyncDispose]();
      await deps[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

testChannel('webhook', startBench);

test('a taken address names the field, the address and the next step', async () => {
  await using receiver = await startReceiver();
  await using deps = createDeps();
  const { port } = new URL(receiver.url);
  const problem = await deps.make(receiver.url, Number(port)).open();
  assert.ok(problem.kind === 'problem');
  assert.match(problem.message, new RegExp(`^webhook.bind: .*127.0.0.1:${port}.*EADDRINUSE.*stop`));
});

test('a newer channel takes the address over without one refused message', async () => {
  await using deps = createDeps();
  // A port by number, so that two channels can share it.
  const given = await freePort();
  const url = 'http://127.0.0.1:9/';
  const [first, second] = [deps.make(url, given), deps.make(url, given)];
  const [one, two] = [noteAccept(), noteAccept()];
  const [endOne, endTwo] = [new AbortController(), new AbortController()];
  await first.open();
  const runningOne = first.run(one, endOne.signal);
  const send = async (): Promise<number | undefined> => {
    const [answer] = await exchange(given, post('{"sender_id":"ann","text":"x"}'));
    return answer?.status;
  };
  assert.equal(await send(), 200);
  await second.open();
  const runningTwo = second.run(two, endTwo.signal);
  endOne.abort();
  await runningOne;
  await first[Symbol.asyncDispose]();
  assert.equal(await send(), 200);
  assert.deepEqual([one.messages.length, two.messages.length], [1, 1]);
  endTwo.abort();
  await runningTwo;
  assert.equal(await send(), undefined, 'nobody listens, though replies still go out');
  await second[Symbol.asyncDispose]();
});
