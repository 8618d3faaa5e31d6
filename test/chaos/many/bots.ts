/**
 * Several svc with one bot on each of two messengers. The svc that polls, or has the session, is
 * killed, stopped as asked or paused, again and again; another one takes over.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { startFakeOllama } from '../../fake/ollama.ts';
import type { ModelCall } from '../../fake/model-server.ts';
import { PostgresServer } from '../../fake/postgres/server.ts';
import { percentile } from '../outside.ts';
import { webhookConfig } from '../../support/program.ts';
import { Entries, type Entered } from './entries.ts';
import { aloneServer, Fleet } from './fleet.ts';
import type { Instance } from './instance.ts';
import { startDiscord, startTelegram, type Platform } from './platforms.ts';
import { auditTalk, Talk } from './talk.ts';
import { until } from '../../support/waiting.ts';

const people = 3;
/** The longest pause between two moves. */
const betweenMs = 500;
/** After another svc has entered, the paused one stays paused for up to this time. */
const pausedMoreMs = 2_000;
/** A model takes this long at most, and longer for about one message of ten. */
const modelMs = 60;
/** So long that two ends may hit the same message, which then runs alone. */
const longModelMs = 1_000;

const ways = ['kill', 'term', 'pause'] as const;
type How = (typeof ways)[number];

export type Moved = Readonly<Record<string, number>>;

export class Bots implements AsyncDisposable {
  readonly fleet: Fleet;
  readonly platforms: readonly Platform[];
  readonly entries: Entries;
  readonly talk: Talk;
  /** Messages that a wrong brain was asked. */
  readonly wrong: readonly string[];
  readonly #random: () => number;
  readonly #own: AsyncDisposableStack;
  /** Milliseconds from a strike until another svc had entered. */
  readonly #tookMs: Record<How, number[]> = { kill: [], term: [], pause: [] };

  private constructor(
    { fleet, platforms, wrong }: Pick<Bots, 'fleet' | 'platforms' | 'wrong'>,
    random: () => number,
    own: AsyncDisposableStack,
  ) {
    this.fleet = fleet;
    this.platforms = platforms;
    this.wrong = wrong;
    this.#random = random;
    this.entries = new Entries(fleet, platforms);
    this.talk = new Talk(platforms, people, random);
    this.#own = own;
  }

  static async open(
    random: () => number,
    instances: number,
    start = startOneOfEach,
  ): Promise<Bots> {
    await using opening = new AsyncDisposableStack();
    const server = opening.use(await PostgresServer.start());
    const { platforms, documentFor, env, models, wrong, judge } = await start(people, random);
    for (const platform of platforms) opening.use(platform);
    const script = ({ body }: ModelCall) => {
      const { messages, model } = body as { messages: { content: string }[]; model: string };
      const text = messages.at(-1)!.content;
      judge(text, model);
      const delayMs = isLong(text) ? longModelMs : random() * modelMs;
      return { answer: `re: ${text}`, delayMs };
    };
    const model = opening.use(await startFakeOllama(script, { models }));
    const document = documentFor(model.url);
    const common = { servers: aloneServer(server), instances, random };
    const fleet = opening.use(await Fleet.start({ ...common, document, hasWebhook: false, env }));
    return new Bots({ fleet, platforms, wrong }, random, opening.move());
  }

  /** Everybody is answered once, since svc looks for missed messages in known chats only. */
  async greet(): Promise<void> {
    await this.fleet.untilUp();
    for (const platform of this.platforms) await this.#holder(platform);
    await this.talk.greet();
  }

  /** Strikes the svc that has a messenger's bot, and waits until another one has it. */
  async move(): Promise<void> {
    const platform = this.platforms[Math.floor(this.#random() * this.platforms.length)]!;
    const how = ways[Math.floor(this.#random() * ways.length)]!;
    await this.fleet.untilMayDie();
    await pause(this.#random() * betweenMs);
    const holder = await this.#holder(platform);
    const { life } = holder;
    const goOn = this.fleet.instances.length > 1 ? holder.hold() : () => {};
    const beganAt = performance.now();
    const moved = this.#movedFrom(platform, holder);
    const strike = this.#strike(holder, how, moved);
    // A svc that stops as asked sends every reply once.
    const struck = how === 'term' ? strike : this.talk.during(strike);
    // When nobody enters, the error below says so.
    struck.catch(() => {});
    this.#tookMs[how].push((await moved).at - beganAt);
    goOn();
    await struck;
    assert.notEqual(life.how, null, `${holder.name} goes on, though another one has its post`);
    this.check();
  }

  /** Throws when something went wrong without an explanation. */
  check(): void {
    assert.deepEqual([...this.fleet.faults, ...this.entries.doubles], []);
  }

  /** People stop, everybody is answered, every svc stops as asked. */
  async conclude(): Promise<Moved> {
    await this.talk.end();
    await this.fleet.end();
    await this.entries.looked();
    this.check();
    const { figures, faults } = auditTalk(this.talk);
    const wrong = { 'asked of a wrong brain': this.wrong.length };
    const left = { ...(await this.fleet.rows.left()), ...faults, ...wrong };
    assert.deepEqual(left, Object.fromEntries(Object.keys(left).map((name) => [name, 0])));
    return {
      ...figures,
      'double polls': this.entries.doubles.length,
      ...Object.fromEntries(ways.map((how) => [`moved by ${how}`, this.#tookMs[how].length])),
      ...Object.fromEntries(
        ways.map((how) => [`ms by ${how}`, Math.round(percentile(this.#tookMs[how], 1))]),
      ),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.talk.leave();
    return this.#own.disposeAsync();
  }

  async #strike(one: Instance, how: How, moved: Promise<unknown>): Promise<void> {
    switch (how) {
      case 'kill':
        return one.kill();
      case 'term':
        return one.terminate();
      case 'pause':
        await one.pauseUntil(moved.then(() => pause(this.#random() * pausedMoreMs)));
        return void (await one.life.program.ended);
      default:
        return how satisfies never;
    }
  }

  /** The svc that has a messenger's bot, once that one is at work. */
  async #holder(platform: Platform): Promise<Instance> {
    const what = `${platform.name} is entered by one that is at work`;
    await until(what, () => isThere(this.entries.newest(platform)));
    return this.entries.newest(platform)!.instance;
  }

  /** Resolves when another svc has entered. */
  async #movedFrom(platform: Platform, { life, name }: Instance): Promise<Entered> {
    const what = `another one than ${name} enters ${platform.name}`;
    const from = this.entries.all.length;
    const find = (): Entered | undefined =>
      this.entries.all.slice(from).find((one) => one.platform === platform && one.life !== life);
    await until(what, () => find() !== undefined);
    return find()!;
  }
}

function isThere(entered: Entered | null): boolean {
  return entered !== null && entered.instance.life === entered.life && entered.instance.isAtWork;
}

/** The bots of a proof, and what svc has to know of them. */
export type BotsScene = {
  readonly platforms: readonly Platform[];
  readonly env: Readonly<Record<string, string>>;
  /** The models that the runtime has. */
  readonly models: readonly string[];
  /** Messages that a wrong brain was asked, which `judge` finds. */
  readonly wrong: readonly string[];
  readonly documentFor: (modelUrl: string) => object;
  readonly judge: (text: string, model: string) => void;
};

async function startOneOfEach(each: number, random: () => number): Promise<BotsScene> {
  await using opening = new AsyncDisposableStack();
  const platforms = [
    opening.use(await startTelegram(each, random)),
    opening.use(await startDiscord(each)),
  ];
  opening.move();
  return {
    platforms,
    env: Object.fromEntries(platforms.map(({ type, token }) => [tokenOf(type), token])),
    models: [modelId],
    wrong: [],
    judge: () => {},
    documentFor(modelUrl) {
      const [telegram, discord] = platforms.map(({ type, url }) => {
        const mode = type === 'telegram' ? 'polling' : 'gateway';
        return { type, mode, token_env: tokenOf(type), base_url: url };
      });
      const where = { port: 1, adminPort: 2, modelUrl, receiverUrl: 'http://127.0.0.1' };
      return {
        ...webhookConfig(where),
        channels: [telegram, discord],
        routes: platforms.map(({ type }) => ({ channel: type, brain: 'echo' })),
      };
    },
  };
}

/** The model of `webhookConfig`. */
const modelId = 'llama3.2';
const isLong = (text: string): boolean => text.endsWith('9');
const tokenOf = (type: Platform['type']): string => `${type.toUpperCase()}_TOKEN`;
