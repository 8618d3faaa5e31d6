/** The real counters of svc on a clock of their own, with models and receivers that break. */
import type { Status } from '../../src/admin/admin.ts';
import { statusOf } from '../../src/admin/status.ts';
import type { Abandoned, Decision } from '../../src/domain/decision.ts';
import type { ChannelState } from '../../src/domain/event.ts';
import { failure, type FailureKind } from '../../src/domain/failure.ts';
import type { ChannelKey, ModelName, ReplyId } from '../../src/domain/ids.ts';
import { keptDurability } from '../../src/ledger/engine/schedule.ts';
import type { CallResult } from '../../src/telemetry/meters.ts';
import { makeWorld, messageId, senderId } from './admin-world.ts';

const stepMs = 250;
export const webhook = 'webhook' as ChannelKey;
export const messenger = 'messenger_a:1' as ChannelKey;
export const small = 'local_runtime/small' as ModelName;
export const big = 'hosted_runtime/big' as ModelName;
const spare = 'hosted_runtime/spare' as ModelName;

/** What a receiver does with a try. `slow`: it takes it after 8 s; a number: the status. */
export type Answer = 'arrives' | 'slow' | 'silent' | 'unreachable' | number;

/** The brain `main` has one model, the brain `open` two others, asked one after the other. */
const brains = { main: [small], open: [big, spare] } as const;
export type Brain = keyof typeof brains;

/**
 * svc with the channels webhook and messenger_a, each with a brain. Times are in milliseconds since
 * the beginning.
 */
export class Replay {
  readonly #world = makeWorld();
  readonly #beganAt = this.#world.clockMs;
  readonly #acts: { readonly at: number; readonly act: () => void }[] = [];
  readonly #channels = [channelOf('webhook', webhook), channelOf('messenger_a', messenger)];
  /** When each reply that has not arrived was made. */
  readonly #waiting = new Map<ChannelKey, number[]>([
    [webhook, []],
    [messenger, []],
  ]);
  /** Why the storage takes nothing; null: it works. */
  storage: string | null = null;

  get ms(): number {
    return this.#world.clockMs - this.#beganAt;
  }

  /** Goes on by one step of a quarter of a second. */
  step(): void {
    this.#world.clockMs += stepMs;
    const due = this.#acts.filter(({ at }) => at <= this.ms);
    for (const one of due) this.#acts.splice(this.#acts.indexOf(one), 1);
    for (const { act } of due) act();
  }

  async read(): Promise<Status> {
    const { ports } = this.#world;
    const running = ports.runningConfig();
    const [main, open] = running.config.brains;
    const [first, second] = open!.models;
    const models = [second!, { ...second!, modelId: 'spare' }];
    const route = { number: 2, when: null, description: null };
    const config = {
      ...running.config,
      brains: [
        { ...main!, models: [first!] },
        { ...open!, models },
      ],
      routes: [...running.config.routes, { channel: 'messenger_a', brain: 'open', ...route }],
    };
    const { storage } = this;
    const now = {
      ...ports,
      health: () => {
        return storage === null
          ? ({ status: 'ok' } as const)
          : ({ status: 'failing', reason: storage } as const);
      },
      runningConfig: () => ({ ...running, config, warnings: [], channels: this.#channels }),
      backlog: () => this.#backlog(),
      gauges: () => ({ ...ports.gauges(), held: 0, deadLetters: 0 }),
    };
    return await statusOf(now, 'operator', 'operator');
  }

  #backlog(): ReturnType<ReturnType<typeof makeWorld>['ports']['backlog']> {
    return [...this.#waiting].flatMap(([channel, made]) => {
      if (made.length === 0) return [];
      const oldestAt = this.#beganAt + Math.min(...made);
      const rows = { inbox: 0, outbox: made.length, unroutableSince: null };
      return [{ channel, ...rows, oldestAt, oldestReplyAt: oldestAt }];
    });
  }

  channel(name: string, state: ChannelState, reason: string | null = null): void {
    const one = this.#channels.find((channel) => channel.name === name)!;
    if (one.state !== state) one.since = this.#world.clockMs;
    Object.assign(one, { state, reason });
  }

  /** svc tries a reply of a conversation of its own now, and again by its schedule. */
  reply(channel: ChannelKey, answers: (ms: number) => Answer, attempt = 0, madeAt = this.ms): void {
    const { events } = this.#world;
    const waiting = this.#waiting.get(channel)!;
    if (attempt === 0) waiting.push(madeAt);
    const id = messageId as string as ReplyId;
    const of = { channel, id, message: messageId, attempt: attempt + 1 };
    const drop = (): void => void waiting.splice(waiting.indexOf(madeAt), 1);
    const fail = (kind: FailureKind, status: number | null): void => {
      events.deliveryEnded(channel);
      const gapMs = keptDurability.deliveryGapsMs[attempt];
      const isFinal = kind === 'gone' || (channel === messenger && kind === 'rejected');
      const nextAt = isFinal || gapMs === undefined ? null : this.ms + gapMs;
      events.deliveryFailed({
        ...of,
        failure: failure(kind, status === null ? {} : { status }),
        nextAt,
      });
      if (nextAt === null) return drop();
      const act = () => this.reply(channel, answers, attempt + 1, madeAt);
      return void this.#acts.push({ at: nextAt, act });
    };
    const arrive = (): void => {
      events.deliveryEnded(channel);
      events.replyDelivered({ ...of, totalMs: 40 });
      drop();
    };
    events.deliveryBegan(channel);
    const answer = answers(this.ms);
    if (answer === 'slow') this.#acts.push({ at: this.ms + 8_000, act: arrive });
    else if (answer === 'silent') {
      this.#acts.push({ at: this.ms + 15_000, act: () => fail('timeout', null) });
    } else if (answer === 'unreachable') fail('connect_failed', null);
    else if (answer === 'arrives') arrive();
    else fail(kindOf(answer), answer);
  }

  /**
   * A message for a brain. It asks its models until one answers.
   * @param results the end of a call that begins now, and how long it takes
   */
  message(brain: Brain, results: (model: ModelName, ms: number) => readonly [CallResult, number]) {
    this.#ask(brain, results, 0);
  }

  #ask(brain: Brain, results: Parameters<Replay['message']>[1], at: number): void {
    const { events } = this.#world;
    const model = brains[brain][at]!;
    const provider = model.split('/')[0]!;
    events.modelAsked({ model, provider });
    const [result, ms] = results(model, this.ms);
    const act = (): void => {
      events.modelAnswered({ brain, model, provider, result, ms });
      const isLast = at + 1 >= brains[brain].length;
      if (result !== 'answer' && !isLast) return this.#ask(brain, results, at + 1);
      const decision = decisionOf(result, model);
      const sender = { id: senderId, name: null };
      const channel = brain === 'main' ? webhook : messenger;
      return events.turnFinished({ channel, id: messageId, sender, brain, decision, ms });
    };
    this.#acts.push({ at: this.ms + ms, act });
  }

  /** svc looks whether the model is there, without a question. */
  probe(model: ModelName, found: 'there' | FailureKind): void {
    this.#world.events.modelLooked({ model, provider: model.split('/')[0]!, found });
  }
}

function decisionOf(result: CallResult, model: ModelName): Decision | Abandoned {
  if (result === 'answer') return { kind: 'reply', text: 'yes', model, why: 'first' };
  if (result === 'cancelled') return { kind: 'abandoned', why: 'nobody waits' };
  if (result === 'context_overflow') return { kind: 'apology', apology: 'too_long', why: 'none' };
  if (result === 'over_budget') {
    return { kind: 'apology', apology: 'over_budget', opensAt: null, why: 'none' };
  }
  return { kind: 'apology', apology: 'no_answer', why: 'none' };
}

function channelOf(name: 'webhook' | 'messenger_a', key: ChannelKey) {
  const state: ChannelState = 'up';
  const reason: string | null = null;
  return { name, type: name, key, isHeld: true, state, since: 0, reason, lastSeenAt: null };
}

function kindOf(status: number): FailureKind {
  if (status === 410) return 'gone';
  if (status === 404) return 'not_found';
  if (status === 401) return 'unauthorized';
  return status >= 500 ? 'server_error' : 'rejected';
}
