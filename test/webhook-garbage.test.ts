/** Ten thousand malformed requests at socket level: no crash, and the listener still answers. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { exchange, post, readAll, startWebhook } from './fake/webhook.ts';

const good = '{"sender_id":"ann","text":"hello"}';
const total = 10_000;
const perRound = 50;

/** mulberry32: small, and the same for a seed everywhere. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Spoil = (text: string, random: () => number) => string;

const place = (text: string, random: () => number): number => Math.floor(random() * text.length);
const byte = (random: () => number): string => String.fromCharCode(Math.floor(random() * 256));

const spoils: readonly Spoil[] = [
  (text, random) => text.slice(0, place(text, random)),
  (text, random) => {
    const at = place(text, random);
    return text.slice(0, at) + byte(random) + text.slice(at + 1);
  },
  (text, random) => {
    const at = place(text, random);
    return text.slice(0, at) + byte(random).repeat(20) + text.slice(at);
  },
  (text, random) => Array.from({ length: 200 }, () => byte(random)).join('') + text,
  (text) => text.replace('content-length', 'transfer-encoding: chunked\r\ncontent-length'),
  (text) => text.replace(/content-length: .*\r\n/, 'transfer-encoding: chunked\r\n'),
  (text) => text.replace(/content-length: (.*)\r\n/, 'content-length: -1\r\n'),
  (text) => text.replace(/content-length: (.*)\r\n/, '$&content-length: 3\r\n'),
  (text) => text.replace('HTTP/1.1', 'HTTP/9.9'),
  (text) => text.replace('POST', 'BREW'),
  (text) => text.replaceAll('\r\n', '\n'),
  (text) => text.replace('host: svc', `x: ${'y'.repeat(20_000)}`),
  (text) => text.replace('"hello"', '"\\ud800"').replace('ann', '\xff\xfe'),
  (text) => text.replace('POST', 'CONNECT'),
  (text) => text.replace('connection: close', 'connection: upgrade\r\nupgrade: websocket'),
];

test('ten thousand malformed requests crash nothing', { timeout: 30_000 }, async (t) => {
  const seed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SVC_TEST_SEED=${seed}`);
  const random = createRandom(seed);
  await using webhook = await startWebhook();
  const statuses = new Map<string, number>();
  for (let sent = 0; sent < total; sent += perRound) {
    await Promise.all(
      Array.from({ length: perRound }, async () => {
        const spoil = spoils[Math.floor(random() * spoils.length)]!;
        const socket = connect(webhook.port, '127.0.0.1');
        const answer = readAll(socket);
        socket.end(Buffer.from(spoil(post(good), random), 'latin1'));
        const status = (await answer).slice(9, 12);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
    );
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(statuses)));
  assert.ok((statuses.get('400') ?? 0) > total / 10);
  assert.equal(statuses.get('500'), undefined);
  const [answer] = await exchange(webhook.port, post(good));
  assert.equal(answer?.status, 200);
  assert.deepEqual(
    webhook.calls.filter(([event]) => event === 'faulted'),
    [],
  );
});
