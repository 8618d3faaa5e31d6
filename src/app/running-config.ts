/**
 * A running configuration lives as long as one config revision. It has that revision's channels and
 * brains, never changes, and owns only what it opened. The runtime swaps one for another. A claim
 * finishes under the configuration that it began with. A retired one waits for its claims, aborts
 * the rest, then closes. A connection to a platform moves to the next running configuration if its
 * settings are the same.
 *
 * States: made → opened → in use → retired → closed.
 */
import type { Brain } from '../brains/brain.ts';
import type { Receive, Channel, ChannelProblem } from '../channels/channel.ts';
import type { ModelConfig } from '../config/config.ts';
import type { RunningType } from '../channels/registry.ts';
import { revisionOf } from '../config/inspect.ts';
import type { Events } from '../domain/event.ts';
import { botOf, channelTypeOf, registeredNameOf, type ChannelKey } from '../domain/ids.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { ActiveChannel } from '../pipeline/deps.ts';
import { endsWithin, Lifetime, GivenUp } from '../lib/lifetime.ts';
import { Linked, LinkedSet } from '../lib/queue.ts';
import type { Stopper } from '../lib/stop.ts';
import { supervise } from '../lib/supervise.ts';
import type { Model } from '../brains/models/model.ts';
import type { Coordination } from '../cluster/cluster.ts';
import { keepPublicSince } from '../pipeline/public-since.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** A configured channel and its routes. A channel without a route is not here. */
export type RoutedChannel = Pick<
  ActiveChannel,
  'name' | 'channel' | 'routes' | 'session' | 'access'
> & {
  readonly type: RunningType;
  /** How to read attachments on this channel, and how long to merge messages into one turn. */
  readonly reading?: Pick<ActiveChannel, 'speech' | 'pictures' | 'gatherMs'>;
};

/** A model of a brain that is in use, even if the privacy filter drops it. */
export type RoutedModel = {
  readonly brain: string;
  readonly sensitivity: Sensitivity;
  readonly config: ModelConfig;
  readonly model: Model;
};

/**
 * What opens and closes with the running configuration. `open` does not wait. `run`: it is in use
 * now.
 */
export type RunningConfigDeps = { open(): void; run(): void; close(): Promise<void> };

/** One claim under way. */
export class Work extends Linked {
  readonly stop: Stopper;

  constructor(stop: Stopper) {
    super();
    this.stop = stop;
  }
}

/**
 * How long to wait for aborted work. Work that does not end then must not keep the process alive.
 */
const abortedMs = 1_000;
/** How long closing everything may take; the webhook's listener takes up to 1 s. */
const closeMs = 1_500;

export type OpeningRunningConfig = {
  /**
   * The running configuration in use. If both want the same connection and it has not failed, the
   * connection stays open and moves at `run`.
   */
  readonly before: RunningConfig | null;
  readonly events: Events;
  /** Aborts to give up the opening. */
  readonly givenUp: AbortSignal;
};

type ActiveRunningConfig = {
  readonly acceptOn: (channel: ChannelKey) => Receive;
  readonly events: Events;
  readonly cluster: Coordination;
  /**
   * All running configurations that may still have a connection: the one in use and the retired
   * ones.
   */
  readonly before: readonly RunningConfig[];
};

/** How long a channel may take to stop, since it may have to close a connection. */
const stoppedMs = 5_000;

/**
 * An open channel and its run, which may outlive the running configuration that opened it. It
 * belongs to one running configuration at a time.
 */
class Connection {
  readonly key: ChannelKey;
  readonly channel: Channel;
  owner: RunningConfig;
  readonly #ending = new AbortController();
  #run: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | null = null;
  #events: Events | null = null;

  constructor(key: ChannelKey, channel: Channel, owner: RunningConfig) {
    this.key = key;
    this.channel = channel;
    this.owner = owner;
  }

  /**
   * Starts to receive. Only the lease holder of a cluster runs the connection to an account.
   * @param before must have ended before this connection runs
   */
  start(
    receive: Receive,
    events: Events,
    cluster: Coordination,
    before: Promise<unknown> | null,
  ): void {
    this.#events = events;
    const { signal } = this.#ending;
    const name = registeredNameOf(this.key);
    const onEnded = (error: unknown, pauseMs: number): void => {
      const reason = `it ended early and is begun again in ${Math.round(pauseMs / 1000)} s`;
      events.channelChanged({ channel: name, state: 'degraded', reason });
      if (error !== null) events.faulted({ where: `channel ${name}`, error });
    };
    const runUntil = (stop: AbortSignal): Promise<void> =>
      supervise(() => this.channel.run(receive, stop), stop, onEnded);
    const isExclusive = this.channel.sameAs !== undefined;
    const run = (): Promise<void> =>
      isExclusive ? cluster.withLease(this.key, runUntil, signal) : runUntil(signal);
    this.#run = before === null ? run() : before.then(run);
  }

  /**
   * Stops receiving, and resolves when the channel has ended or its time is over. Never rejects, so
   * the next connection does not wait forever. Reports a channel that does not end, once.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#ending.abort();
    try {
      if (await endsWithin(this.#run, stoppedMs)) return;
      throw new Error('it did not end in time');
    } catch (error) {
      this.#events?.faulted({ where: `ending ${registeredNameOf(this.key)}`, error });
    }
  }
}

export class RunningConfig {
  readonly #text: string;
  readonly brains: ReadonlyMap<string, Brain>;
  readonly models: readonly RoutedModel[];
  #channels: readonly RoutedChannel[];
  #events: Events | null = null;
  #opened: Lifetime | null = null;
  readonly #deps: RunningConfigDeps | null;
  readonly #activeChannels = new Map<ChannelKey, ActiveChannel>();
  readonly #connections = new Map<ChannelKey, Connection>();
  readonly #atWork = new LinkedSet<Work>();
  #onIdle: (() => void) | null = null;

  /** @param text of the configuration */
  constructor(
    text: string,
    channels: readonly RoutedChannel[],
    brains: ReadonlyMap<string, Brain>,
    models: readonly RoutedModel[] = [],
    deps: RunningConfigDeps | null = null,
  ) {
    this.#text = text;
    this.#channels = channels;
    this.brains = brains;
    this.models = models;
    this.#deps = deps;
  }

  /** Computed on demand, since `node:crypto` is slow to load: ask after the channels are open. */
  get revision(): string {
    return revisionOf(this.#text);
  }

  /**
   * The channels that have a route, and the completions API. A connection taken over from
   * the previous configuration replaces the channel made for its place.
   */
  get channels(): readonly RoutedChannel[] {
    return this.#channels;
  }

  /** The open channels, by their key in the ledger. */
  get activeChannels(): ReadonlyMap<ChannelKey, ActiveChannel> {
    return this.#activeChannels;
  }

  /**
   * Opens every channel. If one fails to open, closes those that were opened.
   * @returns the problem of the channel that cannot be opened, or null
   * @throws GivenUp, and errors of a channel
   */
  async open({ before, events, givenUp }: OpeningRunningConfig): Promise<ChannelProblem | null> {
    const failed = (what: string, error: unknown): void =>
      events.faulted({ where: `closing ${what}`, error });
    const opened = new Lifetime(givenUp, failed);
    this.#events = events;
    this.#opened = opened;
    let isOpen = false;
    try {
      const problem = await this.#openAll(opened, before);
      isOpen = problem === null;
      return problem;
    } finally {
      if (!isOpen) await this.#close();
    }
  }

  async #openAll(opened: Lifetime, before: RunningConfig | null): Promise<ChannelProblem | null> {
    const deps = this.#deps;
    if (deps !== null) {
      opened.defer('the MCP servers', () => deps.close());
      deps.open();
    }
    const channels: RoutedChannel[] = [];
    for (const planned of this.#channels) {
      const { name, channel: made, routes, session, access, reading } = planned;
      const reused = before === null ? null : before.#reusableConnection(made);
      if (reused !== null) {
        opened.defer(name, () => this.#closeIfOwned(reused));
        await this.#try(`closing an unused ${name}`, () => made[Symbol.asyncDispose]());
      }
      const connection = reused ?? (await this.#openOne(opened, planned));
      if (connection !== null && 'message' in connection) return connection;
      if (connection !== null) {
        const { key, channel } = connection;
        this.#connections.set(key, connection);
        const { brains } = this;
        const rules = { routes, session, access, ...reading, all: this.#activeChannels };
        this.#activeChannels.set(key, { name, channel, ...rules, brains });
      }
      channels.push({ ...planned, channel: connection?.channel ?? made });
    }
    this.#channels = channels;
    return null;
  }

  /** @returns null: the channel takes no part */
  async #openOne(
    opened: Lifetime,
    { name, channel }: RoutedChannel,
  ): Promise<Connection | ChannelProblem | null> {
    let owned: Pick<Connection, 'owner' | 'channel'> = { owner: this, channel };
    const closeIfOwned = (): Promise<void> => this.#closeIfOwned(owned);
    const answer = await opened.use(name, () => channel.open(), closeIfOwned);
    if (answer.kind === 'problem') return { ...answer, channel: name };
    if (answer.kind === 'unfit') return null;
    const connection = new Connection(answer.key, channel, this);
    owned = connection;
    return connection;
  }

  /** Closes a channel that this running configuration still owns. A new owner closes its own. */
  async #closeIfOwned({ owner, channel }: Pick<Connection, 'owner' | 'channel'>): Promise<void> {
    if (owner === this) await channel[Symbol.asyncDispose]();
  }

  /**
   * Finds the open connection to reuse. A connection that failed for good is not reused, because a
   * new configuration is a new try.
   */
  #reusableConnection(channel: Channel): Connection | null {
    for (const connection of this.#connections.values()) {
      const { state } = connection.channel.health();
      if (state !== 'failed' && channel.sameAs?.(connection.channel) === true) return connection;
    }
    return null;
  }

  /**
   * Ends connections to the same account, since two would disturb each other. A channel that was
   * renamed has the account under its former name.
   */
  #stopSameAccount({ key, channel }: Connection): Promise<void>[] {
    if (channel.sameAs === undefined) return [];
    const account = accountOf(key);
    const same = [...this.#connections.values()].filter((one) => accountOf(one.key) === account);
    return same.map((one) => one.stop());
  }

  /** Receives messages on every channel until it is retired. */
  run({ acceptOn, events, cluster, before }: ActiveRunningConfig): void {
    this.#deps?.run();
    for (const [key, connection] of this.#connections) {
      if (connection.owner === this) {
        const stopped = before.flatMap((runningConfig) =>
          runningConfig.#stopSameAccount(connection),
        );
        const allStopped = stopped.length === 0 ? null : Promise.all(stopped);
        connection.start(acceptOn(key), events, cluster, allStopped);
      } else {
        connection.owner = this;
      }
    }
  }

  /**
   * Begins one piece of work.
   * @param stop ends it early
   */
  enter(stop: Stopper): Work {
    const work = new Work(stop);
    this.#atWork.add(work);
    return work;
  }

  leave(work: Work): void {
    this.#atWork.delete(work);
    if (this.#atWork.size === 0) this.#onIdle?.();
  }

  /** Stops receiving, and waits until each channel has ended or its time is over. */
  async stopReceiving(): Promise<void> {
    await Promise.all(this.#ownConnections().map((connection) => connection.stop()));
  }

  /** Ends the connections that need a lease. The other channels continue. */
  async releaseLeases(): Promise<void> {
    const leased = this.#ownConnections().filter(({ channel }) => channel.sameAs !== undefined);
    await Promise.all(leased.map((connection) => connection.stop()));
  }

  /** Reports a step that fails, so that the other steps still run. */
  async #try(where: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#events?.faulted({ where, error });
    }
  }

  /** The connections that it owns now, without those of the next or the previous one. */
  #ownConnections(): Connection[] {
    return [...this.#connections.values()].filter(({ owner }) => owner === this);
  }

  get busy(): boolean {
    return this.#atWork.size > 0;
  }

  /** Waits at most `graceMs` for work under way, then aborts it and waits a moment more. */
  async finish(graceMs: number): Promise<void> {
    await this.#idleWithin(graceMs);
    this.abortWork();
    await this.#idleWithin(abortedMs);
  }

  #idleWithin(ms: number): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  abortWork(): void {
    for (const work of this.#atWork) work.stop.stop();
  }

  /** Takes it out of use: stops receiving, waits up to `graceMs` for claims, then closes. */
  async retire(graceMs: number): Promise<void> {
    await this.stopReceiving();
    await this.finish(graceMs);
    await this.#close();
  }

  /** Never rejects; reports errors in closing. */
  async #close(): Promise<void> {
    await this.#opened?.close(closeMs);
    this.#activeChannels.clear();
  }
}

/** The bot of a platform, whatever the channel's name. */
function accountOf(key: ChannelKey): string {
  return `${channelTypeOf(key)}:${botOf(key)}`;
}

const stopping: ChannelProblem = {
  kind: 'problem',
  code: 'shutting_down',
  message: 'The service is stopping; it takes no new configuration.',
};

type Opening = OpeningRunningConfig & {
  readonly runningConfig: RunningConfig;
  readonly ledger: Pick<Ledger, 'accept' | 'cursor'>;
  readonly events: Pick<Events, 'faulted'>;
  readonly now: () => number;
  /** Puts it in the place of the one in use. */
  readonly run: () => void;
  /** Called once, when the next running configuration may be opened. */
  readonly onOver: () => void;
};

/** @throws errors of a channel */
export async function openRunningConfig(
  opening: Opening,
): Promise<ChannelProblem | OpenedRunningConfig> {
  const { runningConfig, givenUp, onOver } = opening;
  let isOpen = false;
  try {
    const problem = await runningConfig.open(opening);
    if (problem !== null) return problem;
    await label(opening, 'private');
    isOpen = true;
  } catch (error) {
    if (error instanceof GivenUp) return stopping;
    throw error;
  } finally {
    if (!isOpen) onOver();
  }
  const opened = new OpenedRunningConfig(opening);
  if (!givenUp.aborted) return opened;
  await opened.drop();
  return stopping;
}

/**
 * A running configuration that is open but not in use yet. The next one opens only after it is used
 * or dropped. The end of the service drops it.
 */
export class OpenedRunningConfig {
  readonly kind = 'opened';
  readonly #opening: Opening;
  #dropped: Promise<void> | null = null;
  #isOver = false;

  constructor(opening: Opening) {
    this.#opening = opening;
    opening.givenUp.addEventListener('abort', this.#giveUp, { once: true });
  }

  /**
   * @returns null: it is in use
   * @throws errors of `run`; it may be in use all the same
   */
  use(): ChannelProblem | null {
    if (this.#isOver) return stopping;
    this.#end();
    const { run, onOver } = this.#opening;
    try {
      run();
      void label(this.#opening, 'public');
    } finally {
      onOver();
    }
    return null;
  }

  /** Closes what it opened, unless it is in use. */
  drop(): Promise<void> {
    if (!this.#isOver) {
      this.#end();
      const { runningConfig, onOver } = this.#opening;
      this.#dropped = runningConfig.retire(0).finally(onOver);
    }
    return this.#dropped ?? Promise.resolve();
  }

  readonly #giveUp = (): void => void this.drop();

  #end(): void {
    this.#isOver = true;
    this.#opening.givenUp.removeEventListener('abort', this.#giveUp);
  }
}

/** Records whether each channel is public or private. A failure does not prevent its use. */
async function label(
  { ledger, runningConfig, now, events }: Opening,
  become: Sensitivity,
): Promise<void> {
  try {
    await keepPublicSince(ledger, runningConfig.activeChannels, become, now());
  } catch (error) {
    events.faulted({ where: 'keeping since when a channel is public', error });
  }
}
