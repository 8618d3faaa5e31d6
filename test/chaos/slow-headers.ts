/** Connections that send the head of a request a byte at a time, as many as nearly fit. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, scratch, secret, serve, webhookConfig, writeConfig } from '../program.ts';
import { ask, metricOf, percentile, untilTrue } from './outside.ts';
import { seeded, type Proof } from './proof.ts';

const connections = 900;
const byteMs = 250;
const asks = 100;
/** Of those that were answered while all the connections were open. */
const asksMin = 20;
/** The smallest size runs beside other tests. */
const delayMsMax = { alone: 50, crowded: 1_000 };
/** What the listener allows for a head; and that it looks at intervals. */
const headersMs = 5_000;
const slackMs = 5_000;

export const slowHeaders: Proof = {
  name: 'slow-headers',
  title: `${connections} connections that send a head byte by byte delay nobody and are closed`,
  unit: 'attacks',
  sizes: { test: 1, change: 2, nightly: 10 },
  async run(count, seed, say) {
    const random = seeded(seed);
    const most = count > this.sizes.test ? delayMsMax.alone : delayMsMax.crowded;
    const rounds: Found[] = [];
    for (let round = 0; round < count; round++) {
      const found = await attack(round % 2 === 0 ? 'webhook' : 'admin', random);
      const { quietMs, besideMs } = found;
      say(`p95 of /healthz ${quietMs.toFixed(1)} ms, beside them ${besideMs.toFixed(1)} ms`);
      assert.ok(besideMs - quietMs < most, `/healthz took ${besideMs} ms beside them`);
      rounds.push(found);
    }
    const worst = (of: (found: Found) => number): number => Math.round(Math.max(...rounds.map(of)));
    const figures = {
      connections: connections * count,
      'ms p95 of /healthz': worst(({ besideMs }) => besideMs),
      'ms until the last was closed': worst(({ closedMs }) => closedMs),
    };
    return { kind: 'proved', figures };
  },
};

/** The 95th percentiles of /healthz before and meanwhile; when the last one was closed. */
type Found = { readonly quietMs: number; readonly besideMs: number; readonly closedMs: number };

async function attack(listener: 'webhook' | 'admin', random: () => number): Promise<Found> {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const file = await writeConfig(folder.path, webhookConfig(where));
  await using program = await serve(file, port);
  const ports = [port, adminPort];
  const quietMs = await healthMs(ports, () => false);
  const base = await openConnections(adminPort);
  const startedAt = performance.now();
  await using slow = new Slow(listener === 'webhook' ? port : adminPort, random);
  await slow.opened;
  const besideMs = await healthMs(ports, () => slow.closed > 0);
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const says = Array.from({ length: 20 }, (_, i) => {
    return ask({ port, path: '/webhook', headers, body: `{"sender_id":"c${i}","text":"hello"}` });
  });
  for (const answer of await Promise.all(says)) assert.equal(answer?.status, 200);
  await receiver.waitFor(says.length);
  const done = (): boolean => slow.closed === connections;
  await untilTrue('every slow connection is closed', done, headersMs + slackMs);
  const closedMs = performance.now() - startedAt;
  await untilTrue(
    'svc counts them no more',
    async () => (await openConnections(adminPort)) <= base,
  );
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0);
  return { quietMs, besideMs, closedMs };
}

/** The 95th percentile of /healthz of both listeners, each ask on a connection of its own. */
async function healthMs(ports: readonly number[], over: () => boolean): Promise<number> {
  const tookMs: number[] = [];
  while (tookMs.length < asks && !over()) {
    const startedAt = performance.now();
    const answer = await ask({ port: ports[tookMs.length % ports.length]!, path: '/healthz' });
    assert.equal(answer?.status, 200);
    tookMs.push(performance.now() - startedAt);
  }
  assert.ok(tookMs.length >= asksMin, `only ${tookMs.length} asks before connections were closed`);
  return percentile(tookMs, 0.95);
}

async function openConnections(port: number): Promise<number> {
  const page = await ask({ port, path: '/metrics' });
  return metricOf(page?.body ?? '', 'svc_connections');
}

/** Every connection sends its next byte at its own moment, for ever. */
class Slow implements AsyncDisposable {
  readonly opened: Promise<unknown>;
  closed = 0;
  readonly #sockets: readonly Socket[];
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(port: number, random: () => number) {
    const head = `GET /healthz HTTP/1.1\r\nhost: svc\r\nx: ${'y'.repeat(1_000)}`;
    this.#sockets = Array.from({ length: connections }, () => connect(port, '127.0.0.1'));
    this.opened = Promise.all(this.#sockets.map((socket) => once(socket, 'connect')));
    for (const socket of this.#sockets) {
      let at = 0;
      socket.on('error', () => {}).resume();
      socket.once('close', () => this.closed++);
      const send = (): void => {
        if (!socket.writable) return;
        socket.write(head[at++]!);
        this.#timers.push(setTimeout(send, byteMs));
      };
      this.#timers.push(setTimeout(send, random() * byteMs));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
  }
}
