/** Malformed HTTP at socket level, against both listeners of the real program. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { anotherHost } from '../fake/many-hosts.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { post as requestText, readAll } from '../fake/webhook.ts';
import {
  freePort,
  scratch,
  secret,
  serve,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { malformed, smuggled, type Good } from './malformed-requests.ts';
import { ask, metricOf } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { patienceMs, until } from '../support/waiting.ts';

const atOnce = 50;
const perRound = 500;
/** The share of connections that stay open and silent until the listener's limits end them. */
const shareLeft = 0.002;
/** Room for garbage; at the largest size a leak of 1 KiB a request shows. */
const memoryBytesMax = 96 * 1_048_576;
const codesOf503 = /"code":"(inbox_full|shutting_down|storage_failed|starting)"/;

export const malformedProof: Proof = {
  name: 'malformed',
  title:
    'Malformed HTTP at both listeners: no crash, no 5xx but the documented, nothing smuggled, ' +
    'good requests answered all the while, memory and sockets as before',
  unit: 'requests',
  sizes: { change: 5_000, nightly: 100_000 },
  async run(count, seed, say) {
    await using attack = await Attack.open(seed);
    let base = 0;
    for (let sent = 0; sent < count; sent += perRound) {
      await attack.round(Math.min(perRound, count - sent));
      await attack.checkGood();
      if (sent <= count / 4) base = await attack.memoryBytes();
      if (sent % 10_000 === 0) say(`${sent} sent`);
    }
    const figures = await attack.finish(base);
    return { kind: 'proved', figures: { requests: count, crashes: 0, ...figures } };
  },
};

class Attack implements AsyncDisposable {
  readonly #things = new AsyncDisposableStack();
  readonly #random: () => number;
  readonly #statuses = new Map<string, number>();
  readonly #goods: { readonly port: number; readonly good: Good }[] = [];
  readonly #left: { readonly socket: Socket; answered: boolean }[] = [];
  #port = 0;
  #adminPort = 0;
  #connections = 0;
  #program!: Awaited<ReturnType<typeof serve>>;
  #texts!: () => string[];

  private constructor(seed: number) {
    this.#random = seeded(seed);
  }

  static async open(seed: number): Promise<Attack> {
    const attack = new Attack(seed);
    try {
      await attack.#open();
    } catch (error) {
      await attack[Symbol.asyncDispose]();
      throw error;
    }
    return attack;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#things.disposeAsync();
  }

  async #open(): Promise<void> {
    const folder = this.#things.use(await scratch());
    const model = this.#things.use(await startFakeOllama());
    const receiver = this.#things.use(await startReceiver());
    this.#texts = () => model.calls.map(({ text }) => text);
    [this.#port, this.#adminPort] = [await freePort(), await freePort()];
    const where = { port: this.#port, adminPort: this.#adminPort };
    const config = webhookConfig({ ...where, modelUrl: model.url, receiverUrl: receiver.url });
    const file = await writeConfig(folder.path, config);
    this.#program = this.#things.use(await serve(file, this.#port));
    const bearer = { host: '127.0.0.1', authorization: `Bearer ${secret}` };
    this.#add(this.#port, requestText('{"sender_id":"sender","text":"hello"}', bearer));
    for (const path of ['/healthz', '/api/v1/status', '/metrics', '/ui']) {
      this.#add(this.#adminPort, requestText('', bearer, `GET ${path}`));
    }
    await this.checkGood();
    this.#connections = metricOf(await this.#page(), 'svc_connections');
  }

  #add(port: number, text: string): void {
    const end = text.indexOf('\r\n\r\n') + 4;
    this.#goods.push({ port, good: { head: text.slice(0, end), body: text.slice(end) } });
  }

  async round(count: number): Promise<void> {
    let left = count;
    const senders = Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await this.#one();
    });
    await Promise.all(senders);
  }

  /** Sends one request; half of them go to the webhook. */
  async #one(): Promise<void> {
    const pages = this.#goods.length - 1;
    const toHook = this.#random() < 0.5;
    const target = this.#goods[toHook ? 0 : 1 + Math.floor(this.#random() * pages)]!;
    const bytes = malformed(target.good, this.#random);
    const ending = this.#random();
    const localAddress = anotherHost();
    const socket = connect({ host: '127.0.0.1', port: target.port, localAddress });
    const answer = readAll(socket);
    if (ending < shareLeft) {
      const left = { socket, answered: false };
      socket.once('data', () => (left.answered = true));
      socket.write(bytes);
      this.#left.push(left);
      return;
    }
    if (ending < 0.1) socket.write(bytes, () => socket.resetAndDestroy());
    else if (ending < 0.2) socket.write(bytes, () => socket.destroy());
    else socket.end(bytes);
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      socket.destroy(new Error('late'));
      // The listener's own limits are a sixth of this; Node's defaults are longer.
    }, patienceMs);
    const text = await answer;
    clearTimeout(late);
    assert.ok(!isLate, 'a connection is closed in time');
    this.#note(text);
  }

  #note(text: string): void {
    const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 'none';
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    for (const found of text.matchAll(/HTTP\/1\.1 5\d\d.*?\r\n\r\n.*/gs)) {
      assert.match(found[0], codesOf503, 'a 5xx is a documented one');
    }
  }

  /** Asserts that both listeners answer, and that a message is accepted. */
  async checkGood(): Promise<void> {
    assert.equal(this.#program.child.exitCode, null, this.#program.log());
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const body = '{"sender_id":"good","text":"hello"}';
    const answers = await Promise.all([
      ask({ port: this.#port, path: '/webhook', headers, body }),
      ask({ port: this.#port, path: '/healthz' }),
      ask({ port: this.#adminPort, path: '/healthz' }),
    ]);
    assert.deepEqual(
      answers.map((answer) => answer?.status),
      [200, 200, 200],
    );
  }

  async #page(): Promise<string> {
    const page = await ask({ port: this.#adminPort, path: '/metrics' });
    assert.ok(page !== null && page.status === 200);
    return page.body;
  }

  async memoryBytes(): Promise<number> {
    return metricOf(await this.#page(), 'svc_process_resident_memory_bytes');
  }

  /** Only an answered client may keep its connection, for the next request. */
  async #closeLeft(): Promise<void> {
    const silent = (): number =>
      this.#left.filter(({ socket, answered }) => !socket.destroyed && !answered).length;
    await until('who says nothing more is disconnected', () => silent() === 0);
    for (const { socket } of this.#left) socket.destroy();
  }

  /** @param base resident memory after the warm-up */
  async finish(base: number): Promise<Record<string, number>> {
    await this.#closeLeft();
    let open = '';
    const over = async (): Promise<boolean> => {
      const page = await this.#page();
      const left = metricOf(page, 'svc_connections') - this.#connections;
      const rows = metricOf(page, 'svc_rows');
      open = `${left} connections, ${rows} rows`;
      return left <= 0 && rows === 0;
    };
    await until('all is closed and settled', over).catch(() => {
      assert.fail(`left over: ${open}`);
    });
    const grownBytes = (await this.memoryBytes()) - base;
    assert.ok(grownBytes < memoryBytesMax, `memory grew by ${grownBytes} bytes`);
    assert.deepEqual(
      this.#texts().filter((text) => text.includes(smuggled)),
      [],
    );
    this.#program.child.kill('SIGTERM');
    assert.equal(await this.#program.ended, 0);
    assert.doesNotMatch(this.#program.log(), /"fault"/);
    const statuses = [...this.#statuses].sort(([a], [b]) => a.localeCompare(b));
    const counts = Object.fromEntries(statuses.map(([status, n]) => [`answered ${status}`, n]));
    return { ...counts, 'MiB grown': Math.round(grownBytes / 1_048_576) };
  }
}
