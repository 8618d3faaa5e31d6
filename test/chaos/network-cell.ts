/**
 * One cell of the matrix: svc with storage, its neighbours, and a proxy between svc and one of
 * them. The proxy has a fault during the first half of the messages, and none during the second.
 */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { FaultProxy, type NetworkFault } from '../fake/fault-proxy.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import {
  freePort,
  scratch,
  secret,
  serve,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { checkTurns, lastLine, type Link, type Said } from './network-audit.ts';
import { ask, handlesOf, metricOf } from './outside.ts';
import { seeded } from './proof.ts';
import { patienceMs, until, untilAll } from '../support/waiting.ts';

export type CellFound = { readonly spoiled: number; readonly repeats: number; readonly ms: number };

const perConversation = 5;
/** How long senders and readers wait for an answer during the fault. */
const clientMs = 1_000;
/** Time in which the fault may meet something else. */
const goesOnMs = 300;
const modelDelayMs = 5;
/** Pauses after an attempt without an answer, and between two texts, at most. */
const [betweenTriesMs, betweenTextsMs] = [20, 40];
/** The limit for a model's whole answer, in the config of the cell. */
const modelMs = 4_000;
/** How long svc keeps a silent connection, by its documents. */
const holdsMs: Readonly<Record<Link, number>> = {
  sender: 10_000,
  admin: 10_000,
  local: modelMs,
  hosted: modelMs,
  receiver: 15_000,
};
/** Checks come at intervals. */
const slackMs = 15_000;

export type CellOrder = {
  readonly link: Link;
  readonly fault: NetworkFault;
  readonly count: number;
  readonly seed: number;
  /** Whether the time that svc keeps a silent connection counts; else it must only end. */
  readonly isJudged: boolean;
};

/** @throws AssertionError when a promise does not hold in it */
export async function runCell(order: CellOrder): Promise<CellFound> {
  const startedAt = Date.now();
  await using cell = await Cell.open(order);
  await cell.talk();
  const spoiled = await cell.settle();
  const repeats = cell.checkReplies();
  assert.ok(spoiled > 0, 'nothing met the fault: an empty cell');
  return { spoiled, repeats, ms: Date.now() - startedAt };
}

class Cell implements AsyncDisposable {
  readonly #link: Link;
  readonly #fault: NetworkFault;
  readonly #count: number;
  readonly #random: () => number;
  readonly #isJudged: boolean;
  readonly #things = new AsyncDisposableStack();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  readonly #said = new Map<string, Said[]>();
  #receiver!: Receiver;
  #models!: FakeModel[];
  #proxy!: FaultProxy;
  #program!: Awaited<ReturnType<typeof serve>>;
  #port = 0;
  #adminPort = 0;
  #base = { connections: 0, sockets: 0, others: 0 };
  #healed = Promise.withResolvers<void>();
  #accepted = 0;
  #reads = 0;
  /** Failed attempts of the sender, or reads of the admin client. */
  #failed = 0;
  #resends = 0;
  #duplicates = 0;

  private constructor({ link, fault, count, seed, isJudged }: CellOrder) {
    this.#link = link;
    this.#fault = fault;
    this.#count = count;
    this.#random = seeded(seed);
    this.#isJudged = isJudged;
  }

  static async open(order: CellOrder): Promise<Cell> {
    const cell = new Cell(order);
    try {
      await cell.#open();
    } catch (error) {
      await cell[Symbol.asyncDispose]();
      throw error;
    }
    return cell;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#things.disposeAsync();
  }

  async #open(): Promise<void> {
    const things = this.#things;
    const folder = things.use(await scratch());
    this.#receiver = things.use(await startReceiver());
    this.#port = await freePort();
    this.#adminPort = await freePort();
    const hosted = this.#link === 'hosted';
    const startModel = hosted ? startFakeOpenai : startFakeOllama;
    this.#models = [];
    for (const name of hosted ? ['first', 'second'] : ['first']) {
      const model = await startModel((call) => ({
        answer: `${name}: ${lastLine(call)}`,
        delayMs: modelDelayMs,
      }));
      this.#models.push(things.use(model));
    }
    const [first] = this.#models;
    const far = {
      sender: this.#port,
      admin: this.#adminPort,
      local: portOf(first!.url),
      hosted: portOf(first!.url),
      receiver: portOf(this.#receiver.url),
    }[this.#link];
    this.#proxy = things.use(await FaultProxy.start(far, this.#random, this.#serves()));
    const file = await writeConfig(folder.path, this.#config());
    this.#program = things.use(await serve(file, this.#port, { MODEL_KEY: 'a-key-of-the-tests' }));
    await this.#readPages();
    this.#base = await this.#held();
  }

  /** svc is the server of the link. */
  #serves(): boolean {
    return this.#link === 'sender' || this.#link === 'admin';
  }

  #config(): Record<string, unknown> {
    const through = (url: string, link: Link): string =>
      this.#link === link ? url.replace(/:\d+/, `:${this.#proxy.port}`) : url;
    const config = webhookConfig({
      port: this.#port,
      adminPort: this.#adminPort,
      modelUrl: through(this.#models[0]!.url, 'local'),
      receiverUrl: through(this.#receiver.url, 'receiver'),
    });
    const [brain] = config.brains as [Record<string, unknown> & { models: object[] }];
    const timeoutOf = (ms: number): object => ({ timeout_seconds: ms / 1_000 });
    const timeout = timeoutOf(this.#link === 'local' ? modelMs : patienceMs);
    brain.models = brain.models.map((model) => ({ ...model, ...timeout }));
    if (this.#link === 'hosted') {
      const urls = this.#models.map(({ url }) => url);
      brain['sensitivity'] = 'public';
      brain['dispatch'] = 'sequential';
      brain.models = [through(urls[0]!, 'hosted'), urls[1]!].map((url, index) => ({
        provider: 'hosted_runtime',
        model_id: `gpt-${index}`,
        locality: 'cloud',
        base_url: url,
        api_key_env: 'MODEL_KEY',
        ...timeoutOf(index === 0 ? modelMs : patienceMs),
      }));
    }
    return { ...config, storage: { path: 'svc.db' } };
  }

  /** Everybody sends the first half during the fault, and the second half after it. */
  async talk(): Promise<void> {
    this.#proxy.spoil(this.#fault, this.#wasRefused);
    const conversations = Math.ceil(this.#count / perConversation);
    const speaking = Array.from({ length: conversations }, (_, i) => this.#speak(i, conversations));
    if (this.#link !== 'admin') this.#reads = this.#count;
    const reading = this.#link === 'admin' ? this.#read() : Promise.resolve();
    const half = Math.floor(this.#count / 2);
    const halfSaid = until(
      'the first half is through, and something has met the fault',
      () => this.#accepted >= half && this.#reads >= half && this.#proxy.hasSpoiled,
    );
    await Promise.race([halfSaid, this.#program.ended.then(() => assert.fail('svc has ended'))]);
    await this.#readPages();
    await pause(goesOnMs);
    await this.#proxy.heal();
    this.#healed.resolve();
    await Promise.all([...speaking, reading]);
  }

  async #speak(index: number, conversations: number): Promise<void> {
    const conversation = `c${index}`;
    const said: Said[] = [];
    this.#said.set(conversation, said);
    for (let number = index; number < this.#count; number += conversations) {
      const late = number >= Math.floor(this.#count / 2);
      if (late) await this.#healed.promise;
      await pause(this.#random() * betweenTextsMs);
      const text = `${conversation} ${said.length}`;
      said.push({ id: await this.#say(conversation, text), text, late });
      this.#accepted++;
    }
  }

  /** Repeats a message with the same id until there is an answer. */
  async #say(conversation: string, text: string): Promise<string> {
    const body = JSON.stringify({ sender_id: conversation, text });
    for (let tries = 0; ; tries++) {
      assert.ok(tries < 500, `${text}: no answer after ${tries} tries`);
      const answer = await ask({
        port: this.#link === 'sender' ? this.#proxy.port : this.#port,
        path: '/webhook',
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${secret}`,
          'content-type': 'application/json',
          'webhook-id': text,
        },
        body,
        timeoutMs: this.#link === 'sender' ? clientMs : patienceMs,
      });
      if (answer !== null) {
        assert.equal(answer.status, 200, answer.body);
        const accepted = JSON.parse(answer.body) as { message_id: string; duplicate?: boolean };
        if (tries > 0) this.#resends++;
        if (accepted.duplicate === true) this.#duplicates++;
        return accepted.message_id;
      }
      this.#failed++;
      await pause(betweenTriesMs);
    }
  }

  /** Makes as many reads as messages; each answer must be whole and right. */
  async #read(): Promise<void> {
    const paths = ['/healthz', '/api/v1/status', '/metrics'];
    const readers = Array.from({ length: 4 }, async (_, reader) => {
      for (let number = reader; number < this.#count; number += 4) {
        const late = number >= Math.floor(this.#count / 2);
        if (late) await this.#healed.promise;
        const path = paths[number % paths.length]!;
        const { port } = this.#proxy;
        const timeoutMs = late ? patienceMs : clientMs;
        const answer = await ask({ port, path, agent: this.#agent, timeoutMs });
        this.#reads++;
        if (answer !== null) {
          assert.equal(answer.status, 200);
          if (path !== '/metrics') JSON.parse(answer.body);
        } else {
          assert.ok(!late, `${path} was not answered though nothing went wrong any more`);
          this.#failed++;
          await pause(betweenTriesMs);
        }
      }
    });
    await Promise.all(readers);
  }

  /** Waits until every message is answered and svc has released everything; then stops it. */
  async settle(): Promise<number> {
    const said = [...this.#said.values()].flat();
    assert.equal(new Set(said.map(({ id }) => id)).size, this.#count, 'each 200 names its message');
    const { received } = this.#receiver;
    const answered = (): number => {
      const ids = new Set(received.map(({ body }) => body['in_reply_to']));
      return said.filter(({ id }) => ids.has(id)).length;
    };
    await untilAll(said.length, answered);
    assert.equal(answered(), said.length, 'every message is answered');
    const side = this.#serves() ? 'far' : 'near';
    const held = this.#proxy.heldMs[side];
    const most = holdsMs[this.#link] + slackMs;
    await until('svc lets go of who is silent', () => held.length === this.#proxy.endless);
    const message = `silent sides were held on to for ${held.join(', ')} ms`;
    assert.ok(!this.#isJudged || Math.max(0, ...held) <= most, message);
    const spoiled = await this.#countSpoiled();
    await this.#letGo();
    this.#program.child.kill('SIGTERM');
    assert.equal(await this.#program.ended, 0, 'it lived to be ended');
    assert.doesNotMatch(this.#program.log(), /"fault"/);
    return spoiled;
  }

  /** Waits until connections and handles are as before, and the other side has closed idle ones. */
  async #letGo(): Promise<void> {
    this.#agent.destroy();
    for (const thing of [this.#proxy, this.#receiver, ...this.#models]) {
      await thing[Symbol.asyncDispose]();
    }
    const base = this.#base;
    let now = base;
    const letGo = async (): Promise<boolean> => {
      now = await this.#held();
      const { connections, sockets, others } = now;
      return connections <= base.connections && sockets <= base.sockets && others <= base.others;
    };
    await until('svc lets go of all', letGo).catch((error: Error) => {
      assert.fail(`${error.message}: ${JSON.stringify(now)}, before ${JSON.stringify(base)}`);
    });
  }

  /** After an end of svc, others report the refusal. */
  readonly #wasRefused = (): Promise<boolean> =>
    this.#countSpoiled().then(
      (spoiled) => spoiled > 0,
      () => false,
    );

  /** The side that was refused counts a refused connection. */
  async #countSpoiled(): Promise<number> {
    if (this.#fault !== 'refused') return this.#proxy.spoiled;
    if (this.#serves()) return this.#failed;
    const page = await this.#readPages();
    return ['connect_failed', 'connection_lost'].reduce((sum, outcome) => {
      const label = `outcome="${outcome}"`;
      const tries = metricOf(page, 'svc_model_seconds_count', label);
      return sum + tries + metricOf(page, 'svc_delivery_attempts_total', label);
    }, 0);
  }

  /** @returns the numbers of repeated replies, and of repeated answers to a sender */
  checkReplies(): number {
    const { received } = this.#receiver;
    const models = this.#models.map(({ calls }) => calls);
    checkTurns({ link: this.#link, fault: this.#fault, said: this.#said, received, models });
    const repeats = received.length - this.#count;
    if (this.#fault === 'reset' && this.#link === 'receiver') assert.ok(repeats > 0);
    if (this.#fault === 'reset' && this.#link === 'sender') assert.ok(this.#duplicates > 0);
    assert.ok(this.#duplicates <= this.#resends);
    return repeats + this.#duplicates;
  }

  async #readPages(): Promise<string> {
    for (const port of [this.#port, this.#adminPort]) {
      const health = await ask({ port, path: '/healthz' });
      assert.equal(health?.status, 200);
    }
    const page = await ask({ port: this.#adminPort, path: '/metrics' });
    assert.ok(page !== null && page.status === 200);
    return page.body;
  }

  async #held(): Promise<{ connections: number; sockets: number; others: number }> {
    const connections = metricOf(await this.#readPages(), 'svc_connections');
    const handles = handlesOf(this.#program.child.pid!);
    return { connections, ...(handles ?? { sockets: 0, others: 0 }) };
  }
}

const portOf = (url: string): number => Number(new URL(url).port);
