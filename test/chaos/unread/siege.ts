/** One program under attack, the processes around it, and their findings. */
import assert from 'node:assert/strict';
import { startFakeOllama } from '../../fake/ollama.ts';
import { startReceiver, type Receiver } from '../../fake/receiver.ts';
import {
  freePort,
  post,
  scratch,
  serve,
  webhookConfig,
  writeConfig,
} from '../../support/program.ts';
import { ask, metricOf } from '../outside.ts';
import type { AttackerOrders } from './attacker.ts';
import type { ControlOrders } from './control.ts';
import { Helper } from './helper.ts';
import type { Probed, ProberOrders, Target } from './prober.ts';
import { adminToken, type ListenerName } from './requests.ts';
import { patienceMs, until, untilAll } from '../../support/waiting.ts';

/**
 * The longest time of a probe, besides the machine's own delay. Where the bare server takes more
 * than 1.5 ms while all is calm, a probe may take 200 times that.
 */
const probeMsMax = 300;
const probeOfCalmMax = 200;
const calmRounds = 20;
const flood = { connections: 100, requests: 20_000 };

export type House = { readonly storage: object };

export type Harshness = {
  /** Whether a slow probe is a failure. */
  readonly isJudged: boolean;
  /** Of floods. */
  readonly rounds: number;
  readonly floodMs: number;
};

export type Found = {
  readonly connections: number;
  readonly requests: number;
  readonly answers: number;
  readonly closed: number;
  readonly probes: number;
  readonly judged: number;
  readonly calmMs: number;
  readonly slowestMs: number;
  readonly unexplainedMs: number;
  readonly controlMs: number;
  readonly grownMiB: number;
};

export class Siege implements AsyncDisposable {
  readonly #things = new AsyncDisposableStack();
  #program!: Awaited<ReturnType<typeof serve>>;
  #receiver!: Receiver;
  #attacker!: Helper<AttackerOrders>;
  #prober!: Helper<ProberOrders>;
  #ports!: Readonly<Record<ListenerName, number>>;
  #target!: Target;

  static async open(house: House): Promise<Siege> {
    const siege = new Siege();
    try {
      await siege.#open(house);
    } catch (error) {
      await siege[Symbol.asyncDispose]();
      throw error;
    }
    return siege;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#things.disposeAsync();
  }

  async #open({ storage }: House): Promise<void> {
    const folder = this.#things.use(await scratch());
    const model = this.#things.use(await startFakeOllama());
    this.#receiver = this.#things.use(await startReceiver());
    this.#attacker = this.#things.use(new Helper<AttackerOrders>('attacker.ts'));
    this.#prober = this.#things.use(new Helper<ProberOrders>('prober.ts'));
    const control = this.#things.use(new Helper<ControlOrders>('control.ts'));
    this.#ports = { webhook: await freePort(), admin: await freePort() };
    const where = { port: this.#ports.webhook, adminPort: this.#ports.admin };
    const urls = { modelUrl: model.url, receiverUrl: this.#receiver.url };
    const config = { ...webhookConfig({ ...where, ...urls }), ...storage };
    const document = { ...config, admin: { token_env: 'ADMIN_TOKEN' } };
    const file = await writeConfig(folder.path, document);
    // svc must not read the keychain of the user who runs the proof.
    const noBus = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere', XDG_RUNTIME_DIR: folder.path };
    const variables = { ADMIN_TOKEN: adminToken, ...noBus };
    this.#program = this.#things.use(await serve(file, where.port, variables));
    const ports = Object.values(this.#ports);
    const pid = this.#program.child.pid!;
    this.#target = { ports, control: await control.order('listen'), pid };
    await this.#attacker.order('meet', this.#ports);
  }

  async attack(order: Order, harshness: Harshness): Promise<Found> {
    try {
      return await this.#attack(order, harshness);
    } catch (error) {
      throw new Error(await this.#blamed(error as Error), { cause: error });
    }
  }

  async #attack(order: Order, { isJudged, rounds, floodMs }: Harshness): Promise<Found> {
    await this.#goodMessage('before');
    const before = await this.#held();
    const calm = await this.#prober.order('probe', { ...this.#target, rounds: calmRounds });
    const played = await this.#probed(() => this.#attacker.order('play', order));
    const flooded = await this.#probed(() => this.#floods(rounds, floodMs));
    // The connections that read nothing are still there.
    await this.#goodMessage('beside');
    const total = await this.#attacker.order('leave');
    await this.#goodMessage('after');
    const after = await this.#settled(before.connections);
    const found = [played.probed, flooded.probed];
    const most = (of: (probed: Probed) => number): number => Math.max(...found.map(of));
    const unexplainedMs = most((probed) => probed.unexplainedMs);
    const maxMs = Math.max(probeMsMax, probeOfCalmMax * calm.controlMedianMs);
    if (isJudged) assert.ok(unexplainedMs <= maxMs, `a probe took ${Math.round(unexplainedMs)} ms`);
    assert.equal(await this.#stopped(), 0);
    assert.doesNotMatch(this.#program.log(), /"code":"fault/);
    return {
      connections: total.connections + flooded.value.connections,
      requests: total.requests + flooded.value.requests,
      answers: total.answers,
      closed: total.closed + flooded.value.closed,
      probes: found.reduce((sum, { probes }) => sum + probes, 0),
      judged: found.reduce((sum, { judged }) => sum + judged, 0),
      calmMs: calm.medianMs,
      slowestMs: most(({ slowestMs }) => slowestMs),
      unexplainedMs,
      controlMs: most(({ controlSlowestMs }) => controlSlowestMs),
      grownMiB: (after.memory - before.memory) / 1_048_576,
    };
  }

  /** Floods each listener, with connections that stay and with new ones for closed ones. */
  async #floods(rounds: number, ms: number) {
    const sum = { connections: 0, requests: 0, closed: 0 };
    for (let round = 0; round < rounds; round++) {
      for (const port of Object.values(this.#ports)) {
        for (const again of [false, true]) {
          const one = await this.#attacker.order('flood', { port, ...flood, again, ms });
          sum.connections += one.connections;
          sum.requests += one.requests;
          sum.closed += one.closed;
        }
      }
    }
    return sum;
  }

  async #probed<T>(act: () => Promise<T>): Promise<{ readonly value: T; readonly probed: Probed }> {
    await this.#prober.order('start', this.#target);
    const value = await this.#orEnd(act());
    return { value, probed: await this.#orEnd(this.#prober.order('stop')) };
  }

  /** Fails when the program has ended, instead of a wait for it. */
  #orEnd<T>(act: Promise<T>): Promise<T> {
    const ended = this.#program.ended.then((code) => {
      throw new Error(`svc ended with ${code}`);
    });
    return Promise.race([act, ended]);
  }

  /** Asserts that a sender's message is accepted, and that its reply comes. */
  async #goodMessage(when: string): Promise<void> {
    const id = `a good one ${when}`;
    const body = { sender_id: 'good', conversation_id: id, text: 'hello' };
    const taken = async (): Promise<boolean> => {
      const { status } = await post(this.#program.url, body);
      assert.ok(status === 200 || status === 503, `a good message ${when} got ${status}`);
      return status === 200;
    };
    await this.#orEnd(until(`a good message ${when} is taken`, taken));
    const { received } = this.#receiver;
    const isThere = (): boolean => received.some((one) => one.body['conversation_id'] === id);
    // Replies to the attack may come before it.
    await this.#orEnd(untilAll(Infinity, () => (isThere() ? Infinity : received.length)));
    assert.ok(isThere(), `a good message ${when} got no reply`);
  }

  async #held(): Promise<{ readonly connections: number; readonly memory: number }> {
    const page = await ask({ port: this.#ports.admin, path: '/metrics' });
    assert.equal(page?.status, 200);
    const connections = metricOf(page.body, 'svc_connections');
    return { connections, memory: metricOf(page.body, 'svc_process_resident_memory_bytes') };
  }

  /**
   * Waits until the sockets of the attack are gone. Memory is a figure without a bound: an idle
   * process keeps the size of its heap.
   */
  async #settled(connections: number) {
    let held = await this.#held();
    const isSettled = async (): Promise<boolean> => {
      held = await this.#held();
      return held.connections <= connections;
    };
    await until('sockets are as before', isSettled).catch((error: Error) => {
      assert.fail(`${error.message}: ${JSON.stringify(held)}, before ${connections} connections`);
    });
    return held;
  }

  #stopped(): Promise<number | string> {
    this.#program.child.kill('SIGTERM');
    return this.#program.ended;
  }

  /** null: it goes on. */
  async #endedSoon(): Promise<number | string | null> {
    const late = setTimeout(() => this.#program.child.kill('SIGKILL'), patienceMs);
    const code = await this.#program.ended;
    clearTimeout(late);
    return code === 'SIGKILL' ? null : code;
  }

  /** Replaces the error of a missing answer by the end of svc, if that is its cause. */
  async #blamed(error: Error): Promise<string> {
    const answer = await ask({ port: this.#ports.webhook, path: '/healthz' });
    const code = answer === null ? await this.#endedSoon() : null;
    const recent = await this.#attacker.order('recent');
    const what = code === null ? error.message : `svc ended with ${code}`;
    const lines = this.#program.log().split('\n');
    const log = lines
      .filter((line) => !line.includes('"level":"info"'))
      .join('\n')
      .slice(-1_500);
    return `${what}\nbegun last, the newest first:\n${recent.join('\n')}\nsvc said:\n${log}`;
  }
}

type Order = { readonly count: number; readonly seed: number };
