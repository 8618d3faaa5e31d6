/**
 * A Plan lives as long as a config revision: its channels and brains, immutable, owning only what
 * it opened. The Host swaps one Plan for another. A claim finishes with the Plan under which it
 * was taken; a retired Plan waits for its claims, then aborts what is left, then closes. A
 * connection to a platform that the next Plan would only make again goes over to that Plan.
 *
 * States: made → opened → in use → retired → closed.
 */
import type { Brain } from './brain/brain.ts';
import type { Accept, Channel, ChannelProblem } from './channel/channel.ts';
import type { AccessConfig, ChannelType, ModelConfig, SessionConfig } from './config/config.ts';
import type { Events } from './domain/event.ts';
import { channelTypeOf, type ChannelKey } from './domain/ids.ts';
import type { Line } from './flow/kit.ts';
import { Linked, LinkedSet } from './lib/linked-set.ts';
import type { Model } from './model/model.ts';
import { supervise } from './lib/supervise.ts';

/** One configured channel with the brain of its route; without a route it is not in the plan. */
export type PlannedChannel = {
  readonly type: ChannelType;
  readonly channel: Channel;
  readonly brain: Brain;
  readonly session: SessionConfig | null;
  readonly access: AccessConfig | null;
};

/** A model of a brain that has a route, whether or not the shield drops it. */
export type PlannedModel = {
  readonly brain: string;
  readonly sensitivity: 'public' | 'private';
  readonly config: ModelConfig;
  readonly model: Model;
};

/** One claim that is worked on under a plan. */
export class Work extends Linked {
  readonly ending = new AbortController();
}

/** A channel that was opened, and its run. It belongs to one plan at a time. */
class Connection {
  readonly key: ChannelKey;
  readonly channel: Channel;
  owner: Plan;
  readonly #ending = new AbortController();
  #run: Promise<void> = Promise.resolve();

  constructor(key: ChannelKey, channel: Channel, owner: Plan) {
    this.key = key;
    this.channel = channel;
    this.owner = owner;
  }

  /** @param before must have ended when this begins */
  start(accept: Accept, events: Events, before: Promise<unknown> | null): void {
    const { signal } = this.#ending;
    const type = channelTypeOf(this.key);
    const ended = (error: unknown, pauseMs: number): void => {
      const reason = `it ended early and is begun again in ${Math.round(pauseMs / 1000)} s`;
      events.channelChanged({ channel: type, state: 'degraded', reason });
      if (error !== null) events.faulted({ where: `channel ${type}`, error });
    };
    const run = (): Promise<void> =>
      supervise(() => this.channel.run(accept, signal), signal, ended);
    this.#run = before === null ? run() : before.then(run);
  }

  /** Takes no more messages in; resolves when the channel has let go. */
  stop(): Promise<void> {
    this.#ending.abort();
    return this.#run;
  }
}

/** What is aborted ends soon. What does not is a fault, and not worth a process that never ends. */
const abortedMs = 1_000;

export class Plan {
  readonly revision: string;
  readonly brains: ReadonlyMap<string, Brain>;
  readonly models: readonly PlannedModel[];
  #channels: readonly PlannedChannel[];
  readonly #lines = new Map<ChannelKey, Line>();
  readonly #connections = new Map<ChannelKey, Connection>();
  readonly #atWork = new LinkedSet<Work>();
  #emptied: (() => void) | null = null;

  constructor(
    revision: string,
    channels: readonly PlannedChannel[],
    brains: ReadonlyMap<string, Brain>,
    models: readonly PlannedModel[] = [],
  ) {
    this.revision = revision;
    this.#channels = channels;
    this.brains = brains;
    this.models = models;
  }

  /** One that was taken over stands in the place of the one that was made for it. */
  get channels(): readonly PlannedChannel[] {
    return this.#channels;
  }

  /** What can be worked on under this plan, by the ledger's key of the channel. */
  get lines(): ReadonlyMap<ChannelKey, Line> {
    return this.#lines;
  }

  /**
   * Opens every channel; when one cannot, what was opened is closed again and the problem told.
   * @param before the plan in use: a connection of its that is just as wanted here, and has not
   *   failed, stays open and changes hands with `run`
   */
  async open(before: Plan | null = null): Promise<ChannelProblem | null> {
    const channels: PlannedChannel[] = [];
    const spare: Channel[] = [];
    for (const planned of this.#channels) {
      const kept = before === null ? null : before.#sameAs(planned.channel);
      if (kept !== null) spare.push(planned.channel);
      const opened = kept ?? (await this.#openOne(planned.channel));
      if (opened !== null && 'message' in opened) {
        await this.#close();
        return opened;
      }
      if (opened !== null) {
        const { key, channel } = opened;
        const { brain, session, access } = planned;
        this.#connections.set(key, opened);
        this.#lines.set(key, { channel, brain, session, access });
      }
      channels.push({ ...planned, channel: opened?.channel ?? planned.channel });
    }
    this.#channels = channels;
    for (const channel of spare) await channel[Symbol.asyncDispose]();
    return null;
  }

  /** @returns null: it takes no part */
  async #openOne(channel: Channel): Promise<Connection | ChannelProblem | null> {
    const opened = await channel.open();
    if (opened.kind === 'problem') return opened;
    return opened.kind === 'opened' ? new Connection(opened.key, channel, this) : null;
  }

  /** One that failed for good is not kept: a new configuration is a new try. */
  #sameAs(channel: Channel): Connection | null {
    for (const connection of this.#connections.values()) {
      const { state } = connection.channel.health();
      if (state !== 'failed' && channel.sameAs?.(connection.channel) === true) return connection;
    }
    return null;
  }

  /** Two connections to one account disturb each other: the one here is ended for that one. */
  #madeWay({ key, channel }: Connection): Promise<void> | null {
    if (channel.sameAs === undefined) return null;
    return this.#connections.get(key)?.stop() ?? null;
  }

  /**
   * Takes messages in on every channel, until the plan is retired.
   * @param before every plan that may still have a connection: the one in use, and those retired
   */
  run(
    acceptOn: (channel: ChannelKey) => Accept,
    events: Events,
    before: readonly Plan[] = [],
  ): void {
    for (const [key, connection] of this.#connections) {
      if (connection.owner === this) {
        const stopped = before.flatMap((plan) => plan.#madeWay(connection) ?? []);
        const allStopped = stopped.length === 0 ? null : Promise.all(stopped);
        connection.start(acceptOn(key), events, allStopped);
      } else {
        connection.owner = this;
      }
    }
  }

  /** Begins one piece of work under this plan; its controller ends it early. */
  enter(): Work {
    const work = new Work();
    this.#atWork.add(work);
    return work;
  }

  leave(work: Work): void {
    this.#atWork.delete(work);
    if (this.#atWork.size === 0) this.#emptied?.();
  }

  /** Stops taking messages in, and waits until the channels have let go. */
  async stopTaking(): Promise<void> {
    await Promise.all(this.#own().map((connection) => connection.stop()));
  }

  /** Without what belongs to another plan: to the next one, or still to the one before. */
  #own(): Connection[] {
    return [...this.#connections.values()].filter(({ owner }) => owner === this);
  }

  get busy(): boolean {
    return this.#atWork.size > 0;
  }

  /** Waits for the work under way, at most `graceMs`; then aborts it and waits a moment more. */
  async finish(graceMs: number): Promise<void> {
    await this.#emptiedWithin(graceMs);
    this.abortWork();
    await this.#emptiedWithin(abortedMs);
  }

  #emptiedWithin(ms: number): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#emptied = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  abortWork(): void {
    for (const work of this.#atWork) work.ending.abort();
  }

  /** Taken out of use: no new messages, up to `graceMs` for what was claimed, then closed. */
  async retire(graceMs: number): Promise<void> {
    await this.stopTaking();
    await this.finish(graceMs);
    await this.#close();
  }

  async #close(): Promise<void> {
    const kept = new Set<Channel>();
    for (const { owner, channel } of this.#connections.values()) {
      if (owner !== this) kept.add(channel);
    }
    for (const { channel } of this.#channels) {
      if (!kept.has(channel)) await channel[Symbol.asyncDispose]();
    }
    this.#lines.clear();
  }
}
