/**
 * The private suite, run on the near side: svc with private brains and configurations that change
 * all the while, on runtimes that lie. A word in each text shows its kind, and the proof searches
 * the outgoing traffic for it.
 */
import assert from 'node:assert/strict';
import { adminToken, askAdmin } from '../../config/program.ts';
import { startReceiver, type Receiver } from '../../fake/receiver.ts';
import {
  freePort,
  post,
  scratch,
  secret,
  startProgram,
  writeConfig,
  type Program,
} from '../../support/program.ts';
import { seeded } from '../proof.ts';
import { cases, honestCase, startRuntime, vendor, type Runtime } from './lies.ts';
import type { Network } from './network.ts';
import { until } from '../../support/waiting.ts';

/** The kind of a text: `lie`, `kept` and `held` are private; `open` is not, and must be seen. */
type Kind = 'lie' | 'kept' | 'held' | 'open';
export const canaries = /\b(?:lie|kept|held|open)-canary-[\da-f]{8}\b/g;

const openModel = {
  provider: 'hosted_runtime',
  model_id: 'big',
  locality: 'cloud',
  base_url: `http://${vendor.name}/v1`,
  api_key_env: 'VENDOR_KEY',
};

export class Suite implements AsyncDisposable {
  readonly said: string[] = [];
  /** Texts that reached a runtime which should get none. */
  readonly astray: string[] = [];
  applied = 0;
  readonly #random: () => number;
  readonly #network: Network;
  readonly #own = new AsyncDisposableStack();
  readonly #replies: Receiver;
  readonly #program: Program;
  readonly #port: number;
  readonly #adminPort: number;
  #answered = 0;
  #runtimes = 0;

  private constructor(
    network: Network,
    seed: number,
    parts: { replies: Receiver; program: Program; port: number; adminPort: number },
  ) {
    this.#network = network;
    this.#random = seeded(seed);
    this.#replies = this.#own.use(parts.replies);
    this.#program = this.#own.use(parts.program);
    this.#port = parts.port;
    this.#adminPort = parts.adminPort;
  }

  static async open(network: Network, seed: number): Promise<Suite> {
    await network.name(vendor.name, [vendor.address]);
    await using parts = new AsyncDisposableStack();
    const folder = parts.use(await scratch());
    const replies = parts.use(await startReceiver());
    const [port, adminPort] = [await freePort(), await freePort()];
    const first = documentOf({ port, adminPort, replies: replies.url }, 'public', [openModel]);
    const file = await writeConfig(folder.path, first);
    const env = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken, VENDOR_KEY: 'a-vendors-key' };
    const program = parts.use(startProgram(['serve', '--config', file], env));
    await program.saw('"listening"');
    const suite = new Suite(network, seed, { replies, program, port, adminPort });
    suite.#own.use(parts.move());
    return suite;
  }

  async run(count: number, say: (line: string) => void): Promise<void> {
    for (let at = 0; at < count; at++) {
      const left = at % cases.length === 0 ? shuffled(cases, this.#random) : this.#left;
      this.#left = left;
      await this.#lie(left[at % cases.length]!);
      if (at % 4 === 0) await this.#keep();
      if (at % 8 === 1) await this.#hold();
      if (at % 50 === 49) say(`${at + 1} runtimes, ${this.said.length} texts`);
    }
    this.#program.child.kill('SIGTERM');
    assert.equal(await this.#program.ended, 0);
  }

  #left: readonly (typeof cases)[number][] = [];

  kill(): void {
    this.#program.child.kill('SIGKILL');
  }

  /** Sends a private text to a lying runtime, and another one once svc knows the runtime. */
  async #lie(lying: (typeof cases)[number]): Promise<void> {
    await using runtime = await this.#start(lying);
    await this.#apply('private', [runtime.model]);
    const texts = [await this.#say('lie', `liar ${this.#runtimes}`)];
    texts.push(await this.#say('lie', `liar ${this.#runtimes}`));
    const sent = runtime.fake.calls.map(({ text }) => text).join('\n');
    if (runtime.shut) this.astray.push(...texts.filter((text) => sent.includes(text)));
  }

  /** Sends a private text, and then a public one in the same conversation under a public brain. */
  async #keep(): Promise<void> {
    await using runtime = await this.#start(honestCase(this.#random));
    await this.#apply('private', [runtime.model]);
    const who = `keeper ${this.#runtimes}`;
    const text = await this.#say('kept', who);
    const { calls } = runtime.fake;
    assert.ok(
      calls.some((call) => call.text.includes(text)),
      'an honest runtime is asked',
    );
    assert.equal(this.#lastReply(), 'hi');
    await this.#apply('public', [openModel]);
    await this.#say('open', who);
    assert.equal(this.#lastReply(), 'from afar');
  }

  /** All becomes public while a private text is with its model, and another one waits behind it. */
  async #hold(): Promise<void> {
    await using runtime = await this.#start(honestCase(this.#random));
    const release = Promise.withResolvers<void>();
    await runtime.fake.script({ fail: 'reset', after: release.promise });
    await this.#apply('private', [runtime.model]);
    const who = `holder ${this.#runtimes}`;
    const [first, second] = [this.#textOf('held'), this.#textOf('held')];
    await this.#post(who, first);
    await until('it is with its model', () => runtime.fake.calls.length === 1);
    await this.#post(who, second);
    await this.#apply('public', [openModel]);
    release.resolve();
    this.#answered += 2;
    await this.#replies.waitFor(this.#answered);
    await this.#say('open', `${who} too`);
    assert.equal(this.#lastReply(), 'from afar');
  }

  #start(lying: (typeof cases)[number]): Promise<Runtime> {
    return startRuntime(lying, ++this.#runtimes, this.#network);
  }

  async #apply(sensitivity: 'public' | 'private', models: readonly object[]): Promise<void> {
    const where = { port: this.#port, adminPort: this.#adminPort, replies: this.#replies.url };
    const ifMatch = (await askAdmin(this.#adminPort, 'config')).etag!;
    const body = JSON.stringify(documentOf(where, sensitivity, models));
    const answer = await askAdmin(this.#adminPort, 'config', { method: 'PUT', ifMatch, body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    this.applied++;
  }

  /** Sends a new text, and waits for its reply. */
  async #say(kind: Kind, who: string): Promise<string> {
    const text = this.#textOf(kind);
    await this.#post(who, text);
    await this.#replies.waitFor(++this.#answered);
    return text;
  }

  #textOf(kind: Kind): string {
    const hex = Math.floor(this.#random() * 16 ** 8).toString(16);
    const text = `${kind}-canary-${hex.padStart(8, '0')}`;
    this.said.push(text);
    return text;
  }

  async #post(who: string, text: string): Promise<void> {
    const { status } = await post(`http://127.0.0.1:${this.#port}/webhook`, {
      sender_id: who,
      text,
    });
    assert.equal(status, 200);
  }

  #lastReply(): unknown {
    return this.#replies.received.at(-1)!.body['text'];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own.disposeAsync();
  }
}

type Where = { readonly port: number; readonly adminPort: number; readonly replies: string };

function documentOf(
  { port, adminPort, replies }: Where,
  sensitivity: 'public' | 'private',
  models: readonly object[],
): Record<string, unknown> {
  const webhook = { bind: `127.0.0.1:${port}`, outbound_url: replies };
  return {
    channels: [{ type: 'webhook', token_env: 'WEBHOOK_SECRET', webhook }],
    brains: [{ name: 'main', sensitivity, policy: { kind: 'priority' }, models }],
    routes: [{ channel: 'webhook', brain: 'main' }],
    storage: { path: 'svc.db' },
    observability: { addr: `127.0.0.1:${adminPort}` },
    admin: { token_env: 'ADMIN_TOKEN' },
  };
}

function shuffled<T>(list: readonly T[], random: () => number): readonly T[] {
  return list
    .map((one) => ({ one, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
