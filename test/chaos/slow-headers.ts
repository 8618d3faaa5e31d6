/** Connections that send the head of a request a byte at a time, nearly as many as the limit. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import {
  freePort,
  scratch,
  secret,
  serve,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { ask, metricOf, percentile } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { until } from '../support/waiting.ts';

const connections = 900;
const byteMs = 250;
const asks = 100;
/** The delay is judged at the largest size only, where the machine does nothing else. */
const delayMsMax = 50;
const sizes = { change: 2, nightly: 10 } as const;

export const slowHeaders: Proof = {
  name: 'slow-headers',
  title: `${connections} connections that send a head byte by byte delay nobody and are closed`,
  unit: 'attacks',
  sizes,
  async run(count, seed, say) {
    const random = seeded(seed);
    const most = count >= sizes.nightly ? delayMsMax : Infinity;
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

/** The 95th percentiles of /healthz before and during the attack; the time until the last close. */
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
  const quietMs = await healthMs(ports);
  const base = await openConnections(adminPort);
  await using slow = new Slow(listener === 'webhook' ? port : adminPort, random);
  await slow.opened;
  const besideMs = await healthMs(ports);
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const says = Array.from({ length: 20 }, (_, i) => {
    return ask({ port, path: '/webhook', headers, body: `{"sender_id":"c${i}","text":"hello"}` });
  });
  for (const answer of await Promise.all(says)) assert.equal(answer?.status, 200);
  await receiver.waitFor(says.length);
  const endedAt = performance.now();
  slow.endWithThese();
  await until('every slow connection is closed', () => slow.open === 0);
  const closedMs = performance.now() - endedAt;
  await until('svc counts them no more', async () => (await openConnections(adminPort)) <= base);
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0);
  return { quietMs, besideMs, closedMs };
}

/** The 95th percentile of /healthz of both listeners, each request on a connection of its own. */
async function healthMs(ports: readonly number[]): Promise<number> {
  const tookMs: number[] = [];
  while (tookMs.length < asks) {
    const startedAt = performance.now();
    const answer = await ask({ port: ports[tookMs.length % ports.length]!, path: '/healthz' });
    assert.equal(answer?.status, 200);
    tookMs.push(performance.now() - startedAt);
  }
  return percentile(tookMs, 0.95);
}

async function openConnections(port: number): Promise<number> {
  const page = await ask({ port, path: '/metrics' });
  return metricOf(page?.body ?? '', 'svc_connections');
}

/**
 * Each connection sends its next byte at its own moment, for ever. A new one replaces each closed
 * one, so that even a slow machine has as many until the end.
 */
class Slow implements AsyncDisposable {
  readonly opened: Promise<unknown>;
  readonly #port: number;
  readonly #random: () => number;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Map<Socket, NodeJS.Timeout>();
  #ending = false;

  constructor(port: number, random: () => number) {
    this.#port = port;
    this.#random = random;
    this.opened = Promise.all(
      Array.from({ length: connections }, () => once(this.#connect(), 'connect')),
    );
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** From now on no new ones replace the closed ones. */
  endWithThese(): void {
    this.#ending = true;
  }

  #connect(): Socket {
    const head = `GET /healthz HTTP/1.1\r\nhost: svc\r\nx: ${'y'.repeat(1_000)}`;
    const socket = connect(this.#port, '127.0.0.1');
    this.#sockets.add(socket);
    let at = 0;
    const send = (): void => {
      if (socket.writable) socket.write(head[at++]!);
      this.#timers.set(socket, setTimeout(send, byteMs));
    };
    this.#timers.set(socket, setTimeout(send, this.#random() * byteMs));
    socket.on('error', () => {}).resume();
    socket.once('close', () => {
      clearTimeout(this.#timers.get(socket));
      this.#timers.delete(socket);
      this.#sockets.delete(socket);
      if (!this.#ending) this.#connect();
    });
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.endWithThese();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
  }
}
