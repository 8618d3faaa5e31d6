import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { good, goodBody, whole } from '../../../test/chaos/quick-way/requests.ts';
import { ServerSockets, untilRead } from '../../../test/fake/server-sockets.ts';
import { startWebhook, type RunningWebhook } from '../../../test/fake/webhook.ts';
import type { ListenLimits } from '../../lib/listener.ts';

const faulty = { kind: 'accepted', receipts: [] } as const;
const refused = (reason: 'full' | 'shutting_down' | 'storage_failed') =>
  ({ kind: 'refused', reason, retryAfterMs: 2_500 }) as const;
const say = (text: string, ...more: string[]): string =>
  whole(good(`{"sender_id":"ann","text":"${text}"}`, more));
const other = (name: string, value: string): string =>
  whole(good()).replace(new RegExp(`${name}: .*`), `${name}: ${value}`);

type Step = (accept: RunningWebhook['accept']) => string;

/** Requests of one connection; each is sent when the one before it has its answer. */
const steps: readonly Step[] = [
  () => whole(good()),
  () => say('\xc3\xa4'),
  () => whole(good('{"sender_id":"\xe2\x82\xac","text":"x"}')),
  () => whole(good('{"sender_id":"ann","conversation_id":9007199254740993000,"text":"x"}')),
  () => say('one', 'Idempotency-Key: k'),
  () => say('one', 'idempotency-key: k'),
  () => say('two', 'webhook-id: k'),
  () => say('three', 'webhook-id: ', 'idempotency-key: k'),
  () => say('long', `webhook-id: ${'k'.repeat(257)}`),
  (accept) => {
    accept.next.push(faulty);
    return say('fault');
  },
  ...(['full', 'shutting_down', 'storage_failed'] as const).map((reason): Step => (accept) => {
    accept.next.push(refused(reason));
    return say(reason);
  }),
  (accept) => {
    accept.free = 0;
    return say('no room');
  },
  (accept) => {
    accept.free = 1;
    return say('room');
  },
  () => other('content-type', 'text/plain'),
  () => other('content-type', 'application/json; charset=latin1'),
  () => other('content-type', 'Application/JSON;charset="utf-8"'),
  () => other('authorization', 'bearer   a-secret-for-tests'),
  () => whole(good()).replace('/webhook', '/other'),
  () => whole(good()).replace('/webhook', '/healthz'),
  () => whole(good()).replace('/webhook', '/webhook?x=1'),
  () => whole(good('{')),
  () => whole(good('{"sender_id":"ann","text":"\xff"}')),
  () => whole(good('{"text":"nobody"}')),
  () => say('last'),
  () => other('authorization', 'Bearer wrong'),
];

/** All that one connection was answered, and what else was seen of it. */
async function answersTo(all: readonly Step[], ownHttp: boolean, limits: Partial<ListenLimits>) {
  await using webhook = await startWebhook({ ownHttp }, limits);
  const socket = connect(webhook.port, '127.0.0.1').setEncoding('latin1');
  const answers: string[] = [];
  for (const step of all) {
    socket.write(step(webhook.accept), 'latin1');
    answers.push((await answerOn(socket)).replace(/^Date: .*$/m, 'Date: now'));
    if (/^connection: close$/im.test(answers.at(-1)!)) break;
  }
  socket.destroy();
  const calls = webhook.calls.map(([name, e]) => (name === 'faulted' ? name : { name, e }));
  return { answers, calls, messages: webhook.accept.messages };
}

async function answerOn(socket: Socket): Promise<string> {
  for (let text = ''; ;) {
    const [part] = (await once(socket, 'data')) as [string];
    text += part;
    const [head, body] = text.split('\r\n\r\n');
    if (body?.length === Number(/^content-length: (\d+)$/im.exec(head!)?.[1])) return text;
  }
}

test('every outcome has the same bytes on the quick way as in node:http', async () => {
  const quick = await answersTo(steps, true, {});
  assert.deepEqual(quick, await answersTo(steps, false, {}));
  assert.equal(quick.answers.length, steps.length);
  assert.match(quick.answers.at(-1)!, /^HTTP\/1\.1 401 /);
  const statuses = new Set(quick.answers.map((text) => text.slice(9, 12)));
  for (const status of ['200', '409', '500', '503']) assert.ok(statuses.has(status), status);
});

test('a connection that strangers have nearly used up is answered the same', async () => {
  const elsewhere: Step = () => whole(good()).replace('/webhook', '/other');
  const right: Step = () => whole(good());
  const mixed = [right, elsewhere, right, elsewhere, right, right, elsewhere, right];
  const limits = { strangerRequestsMax: 3 };
  const quick = await answersTo(mixed, true, limits);
  assert.deepEqual(quick, await answersTo(mixed, false, limits));
});

test('a service that stops says so on connections that were quick', async () => {
  const outcomes = [true, false].map(async (ownHttp) => {
    await using webhook = await startWebhook({ ownHttp });
    const socket = connect(webhook.port, '127.0.0.1').setEncoding('latin1');
    for (let i = 0; i < 2; i++) {
      socket.write(whole(good()));
      await answerOn(socket);
    }
    const text = whole(good());
    socket.write(text.slice(0, 20));
    socket.write('');
    const health = connect(webhook.port, '127.0.0.1').setEncoding('latin1');
    health.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await answerOn(health);
    webhook.stop();
    socket.write(text.slice(20));
    const answer = await answerOn(socket);
    for (const one of [socket, health]) one.destroy();
    return answer.replace(/^Date: .*$/m, 'Date: now');
  });
  const [quick, plain] = await Promise.all(outcomes);
  assert.equal(quick, plain);
  assert.match(quick!, /"code":"shutting_down"/);
});

test('a body that is good before it has come whole is waited for', async () => {
  using sockets = new ServerSockets();
  const answers = [true, false].map(async (ownHttp) => {
    await using webhook = await startWebhook({ ownHttp });
    const socket = connect(webhook.port, '127.0.0.1').setEncoding('latin1');
    await once(socket, 'connect');
    const server = await sockets.of(socket);
    const text = whole(good(`${goodBody}   `));
    socket.write(text.slice(0, -3));
    await untilRead(server, text.length - 3);
    assert.equal(webhook.accept.messages.length, 0);
    socket.write('   ');
    const first = await answerOn(socket);
    socket.write(whole(good()));
    const both = [first, await answerOn(socket)];
    socket.destroy();
    return both.map((answer) => answer.replace(/^Date: .*$/m, 'Date: now'));
  });
  const [quick, plain] = await Promise.all(answers);
  assert.deepEqual(quick, plain);
});

test('a message of the quick way is the message of any other', async () => {
  const three = [steps[0]!, steps[0]!, steps[1]!];
  const { messages } = await answersTo(three, true, {});
  assert.equal(messages.length, 3);
  assert.deepEqual(messages[0], messages[1]);
  assert.equal(messages[2]!.text, 'ä');
  assert.equal(goodBody.includes(messages[0]!.text), true);
});
