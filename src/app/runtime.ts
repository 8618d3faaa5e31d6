/**
 * The runtime lives as long as the process. It has the ledger, the events, the worker pools, and
 * the one reference to the running configuration. `use` starts the service and also changes its
 * configuration: open the new one, swap the reference, let the old one finish.
 */
import { widestOf } from '../domain/conversation.ts';
import { ApprovalWork } from '../pipeline/approvals/request.ts';
import { decideApproval, type DecideResult } from '../pipeline/approvals/decide.ts';
import {
  answerAsOperator,
  type TakeoverResult,
  type OperatorReply,
} from '../pipeline/takeover/takeover.ts';
import { offerCommands, commandsOn } from '../pipeline/commands.ts';
import { deadLetterMessage } from '../pipeline/turn-failure.ts';
import type { ActiveChannel, Deps } from '../pipeline/deps.ts';
import { Gate, type GatedChannel } from '../pipeline/gate.ts';
import { Pairings, type FillRandom } from '../pipeline/pairing/pairing.ts';
import { sendReply, takeTurn, receive, receiveAtGate } from '../pipeline/pipeline.ts';
import { WorkerPool } from '../pipeline/worker-pool.ts';
import type { ChannelProblem, Cursor, ReceiveResult, Receive } from '../channels/channel.ts';
import { completionsChannel, type ChannelKey } from '../domain/ids.ts';
import type { ConversationKey } from '../domain/story.ts';
import { ByteSemaphore } from '../lib/fair-queue.ts';
import { describeDraining } from './draining.ts';
import {
  openRunningConfig,
  type OpenedRunningConfig,
  type RunningConfig,
} from './running-config.ts';
import { createAlone } from '../cluster/alone.ts';
import type { Coordination } from '../cluster/cluster.ts';
import type { Claim, InClaim, OutClaim, CursorMove } from '../ledger/ledger.ts';
import type { AccessConfig } from '../config/config.ts';
import type { Inbound } from '../domain/message.ts';
import { activeRouteOf, RecentMessages, Routing } from '../pipeline/route.ts';
import { isCommand } from '../pipeline/sessions.ts';

export type RuntimeOptions = {
  /** How long a claim may continue under a retired running configuration. */
  readonly retireGraceMs: number;
  /** Random bytes for pairing codes. */
  readonly fillRandom: FillRandom;
  readonly cluster: Coordination;
};

const defaults = (): RuntimeOptions => ({
  retireGraceMs: 30_000,
  fillRandom: (bytes) => void crypto.getRandomValues(bytes),
  cluster: createAlone(),
});

/** Rows that a drain did not finish, and the ids of the first of them. */
export type UnsettledRows = { readonly rows: number; readonly ids: readonly string[] };
const idsMax = 1_000;

/** The most bytes of files read at a time. Voice messages have their own limit. */
const fileBytesMax = 128 * 1024 * 1024;
const spokenBytesMax = 64 * 1024 * 1024;

export class Runtime {
  readonly #deps: Deps;
  readonly #workerPools = new Map<ChannelKey, Pair>();
  readonly #options: RuntimeOptions;
  /** Admits people at the operator's word, and lists those who were turned away. */
  readonly pairings: Pairings;
  readonly gate: Gate;
  readonly approvals: ApprovalWork;
  /** Retired running configurations with work under way, each until it is closed. */
  readonly #retiring = new Map<RunningConfig, Promise<void>>();
  readonly #intake: Intake;
  readonly #unsubscribe: () => void;
  #runningConfig: RunningConfig | null = null;
  /**
   * The channel of API requests, after a configuration without it came into use: it ends the
   * requests of its clients, which would wait in vain. Null: it is in use, or never was.
   */
  #leftApi: ActiveChannel | null = null;
  /** The last swap that was requested. The next one begins when it is over. */
  #swapped: Promise<unknown> = Promise.resolve();
  /** Aborts when no more running configurations are accepted. */
  readonly #draining = new AbortController();
  #drained: Promise<UnsettledRows> | null = null;
  #onIdle: (() => void) | null = null;

  constructor(
    deps: Omit<Deps, 'approvals' | 'fileBytes' | 'spokenBytes'>,
    options: Partial<RuntimeOptions> = {},
  ) {
    this.approvals = new ApprovalWork(deps);
    const fileBytes = new ByteSemaphore(fileBytesMax);
    const spokenBytes = new ByteSemaphore(spokenBytesMax);
    this.#deps = { ...deps, approvals: this.approvals, fileBytes, spokenBytes };
    this.#options = { ...defaults(), ...options };
    const { ledger, events, now } = deps;
    const pairings = sharedPairings(this.#deps, this.#options);
    this.pairings = pairings;
    this.gate = new Gate({ pairings, events, now });
    this.#intake = new Intake(this.#deps, this.gate);
    this.#unsubscribe = ledger.onReady((box, channel) =>
      this.#workerPools.get(channel)?.[box].wake(),
    );
  }

  get runningConfig(): RunningConfig | null {
    return this.#runningConfig;
  }

  /** Describes the work under way, for the operator. */
  get draining(): string {
    const { ledger } = this.#deps;
    return describeDraining(ledger.gauges(), ledger.durability);
  }

  /** Whether the next start finds the rows that a drain leaves. */
  get isDurable(): boolean {
    return this.#deps.ledger.durability.durable;
  }

  /** Sends the operator's text where the brain's reply would go, by the running configuration. */
  answerAsOperator(where: ConversationKey, written: OperatorReply): Promise<TakeoverResult> {
    return answerAsOperator(
      this.#deps,
      this.#runningConfig?.activeChannels.get(where.channel),
      where,
      written,
    );
  }

  /** The operator's decision on a call that waits for approval. */
  decide(id: string, verdict: 'approved' | 'refused'): Promise<DecideResult> {
    return decideApproval(this.#deps, id, verdict, 'operator');
  }

  /**
   * Uses running configurations one after the other, in the order of the calls; the last one stays.
   * @returns null, or the problem for which the previous one stays in use
   */
  async use(runningConfig: RunningConfig): Promise<ChannelProblem | null> {
    const opened = await this.open(runningConfig);
    return opened.kind === 'problem' ? opened : opened.use();
  }

  /** The same in two steps. The caller must use or drop the result before the next one opens. */
  async open(runningConfig: RunningConfig): Promise<ChannelProblem | OpenedRunningConfig> {
    const { promise, resolve: onOver } = Promise.withResolvers<void>();
    const swapped = this.#swapped;
    this.#swapped = promise;
    await swapped;
    const { ledger, events, now } = this.#deps;
    const givenUp = this.#draining.signal;
    const run = (): void => this.#swap(runningConfig);
    return openRunningConfig({
      runningConfig,
      ledger,
      now,
      before: this.#runningConfig,
      events,
      givenUp,
      run,
      onOver,
    });
  }

  #swap(runningConfig: RunningConfig): void {
    const before = this.#runningConfig;
    this.#runningConfig = runningConfig;
    try {
      this.#run(runningConfig, before);
    } finally {
      if (before !== null) this.#retire(before);
    }
  }

  #run(runningConfig: RunningConfig, before: RunningConfig | null): void {
    this.#intake.use(runningConfig.activeChannels);
    const messengers = runningConfig.channels.filter(({ access }) => access !== null);
    this.pairings.use(messengers.map(({ name }) => name));
    const bounds = Array.from(runningConfig.brains.values(), (brain) => brain.historyBounds);
    this.#deps.ledger.remember(widestOf(bounds));
    const { activeChannels } = runningConfig;
    const api = before?.activeChannels.get(completionsChannel) ?? this.#leftApi;
    const isLeft = api !== null && !activeChannels.has(completionsChannel);
    this.#leftApi = isLeft ? { ...api, routes: [] } : null;
    const served = [...activeChannels.keys(), ...(isLeft ? [completionsChannel] : [])];
    this.#deps.ledger.serve(served);
    this.#matchWorkerPools(served);
    const others = [...this.#retiring.keys(), ...(before === null ? [] : [before])];
    const { events } = this.#deps;
    const { cluster } = this.#options;
    runningConfig.run({ acceptOn: this.#intake.acceptOn, events, cluster, before: others });
    for (const [key, channel] of runningConfig.activeChannels)
      offerCommands(this.#deps, key, channel);
    events.configUsed({
      revision: runningConfig.revision,
      channels: runningConfig.channels.length,
      brains: runningConfig.brains.size,
      models: runningConfig.models.map(({ model: { name, provider } }) => ({ name, provider })),
    });
  }

  /**
   * Refuses new messages and configurations, finishes work under way and its replies, returns the
   * rest to the ledger, and closes everything. Without storage it finishes all accepted messages.
   * @param withinMs how long work under way may take; the first call's value counts
   * @param abandon stops the wait for work under way; the first call's signal counts
   * @returns the rows left unsettled
   */
  drain(
    withinMs: number = this.#deps.ledger.durability.drainMs,
    abandon?: AbortSignal,
  ): Promise<UnsettledRows> {
    this.#drained ??= this.#drain(withinMs, abandon);
    return this.#drained;
  }

  async #drain(withinMs: number, abandon?: AbortSignal): Promise<UnsettledRows> {
    const { ledger } = this.#deps;
    this.#draining.abort();
    ledger.closeIntake();
    // Another process takes over the messengers while this one finishes its work.
    if (this.#options.cluster.limitShare() > 1) void this.#runningConfig?.releaseLeases();
    if (!ledger.durability.drainsBacklog)
      for (const pair of this.#workerPools.values()) pair.in.stop();
    await this.#untilIdle(withinMs, abandon);
    for (const pair of this.#workerPools.values()) stop(pair);
    if (this.#runningConfig !== null) this.#retire(this.#runningConfig);
    for (const runningConfig of this.#retiring.keys()) runningConfig.abortWork();
    await Promise.all([...this.#retiring.values(), this.#swapped]);
    this.#unsubscribe();
    await ledger[Symbol.asyncDispose]();
    const rows = ledger.backlog().reduce((sum, { inbox, outbox }) => sum + inbox + outbox, 0);
    return { rows, ids: ledger.unsettled(idsMax) };
  }

  #retire(runningConfig: RunningConfig): void {
    const done = runningConfig
      .retire(this.#draining.signal.aborted ? 0 : this.#options.retireGraceMs)
      .catch((error: unknown) => this.#deps.events.faulted({ where: 'retiring a plan', error }))
      .finally(() => this.#retiring.delete(runningConfig));
    this.#retiring.set(runningConfig, done);
  }

  /**
   * Keeps a pair of worker pools per served channel. Work of other channels waits in the ledger.
   */
  #matchWorkerPools(served: readonly ChannelKey[]): void {
    for (const [key, pair] of this.#workerPools) {
      if (served.includes(key)) continue;
      stop(pair);
      this.#workerPools.delete(key);
    }
    for (const key of served) {
      if (!this.#workerPools.has(key)) this.#workerPools.set(key, this.#workerPoolsFor(key));
      const pair = this.#workerPools.get(key)!;
      pair.in.wake();
      pair.out.wake();
    }
  }

  #workerPoolsFor(key: ChannelKey): Pair {
    const onIdle = (): void => this.#onIdle?.();
    const { ledger, events } = this.#deps;
    const failed = (error: unknown): void => events.faulted({ where: `claims of ${key}`, error });
    return {
      in: new WorkerPool<InClaim>({
        slots: slots.in,
        take: (n) => ledger.claim('in', key, n),
        work: (claim) => this.#work(key, claim, takeTurn),
        rested: onIdle,
        failed,
      }),
      out: new WorkerPool<OutClaim>({
        slots: slots.out,
        take: (n) => ledger.claim('out', key, n),
        work: (claim) => this.#work(key, claim, sendReply),
        rested: onIdle,
        failed,
      }),
    };
  }

  /** Works on one claim by the running configuration. A fault ends that claim and nothing else. */
  async #work<C extends Claim>(
    key: ChannelKey,
    claim: C,
    step: (deps: Deps, channel: ActiveChannel, claim: C) => Promise<void>,
  ): Promise<void> {
    const runningConfig = this.#runningConfig;
    const left = key === completionsChannel ? this.#leftApi : null;
    const channel = runningConfig?.activeChannels.get(key) ?? left;
    if (runningConfig === null || channel === null) return this.#deps.ledger.release(claim);
    const work = runningConfig.enter(claim.stop);
    try {
      await step(this.#deps, channel, claim);
    } catch (error) {
      this.#deps.events.faulted({ where: `${claim.box}box of ${key}`, error });
      await deadLetterMessage(this.#deps, channel, claim).catch((again: unknown) =>
        this.#deps.events.faulted({ where: 'burying', error: again }),
      );
    } finally {
      runningConfig.leave(work);
    }
  }

  /** Resolves when no work is under way and, if the backlog is drained, none can begin. */
  async #untilIdle(withinMs: number, abandon?: AbortSignal): Promise<void> {
    const { ledger } = this.#deps;
    const busy = (): boolean => {
      for (const pair of this.#workerPools.values()) {
        if (!pair.in.resting || !pair.out.resting) return true;
      }
      for (const runningConfig of this.#retiring.keys()) if (runningConfig.busy) return true;
      if (!ledger.durability.drainsBacklog) return false;
      // Work for a channel that is gone would wait in vain.
      return ledger.backlog().some(({ channel }) => this.#workerPools.has(channel));
    };
    if (!busy() || abandon?.aborted === true) return;
    const idle = Promise.withResolvers<void>();
    const timer = setTimeout(idle.resolve, withinMs);
    abandon?.addEventListener('abort', () => idle.resolve(), { once: true });
    this.#onIdle = () => {
      if (!busy()) idle.resolve();
    };
    await idle.promise;
    clearTimeout(timer);
    this.#onIdle = null;
  }
}

// Pairings that every process of the cluster reads again after an operator's change.

/** The topic of the broadcast; its message is a messenger's registered name. */
const pairingsTopic = 'pairings_changed';

type Options = Pick<Deps, 'ledger' | 'now'>;
type Shared = { readonly fillRandom: FillRandom; readonly cluster: Coordination };

export function sharedPairings(
  { ledger, now }: Options,
  { fillRandom, cluster }: Shared,
): Pairings {
  const pairings = new Pairings(ledger, now, fillRandom, (channel) =>
    cluster.broadcast(pairingsTopic, channel),
  );
  cluster.onBroadcast(pairingsTopic, (channel) => pairings.doubt(channel));
  return pairings;
}

/** The worker pools of one channel: for its messages and for its replies. */
type Pair = { readonly in: WorkerPool<InClaim>; readonly out: WorkerPool<OutClaim> };

/** How many turns and how many deliveries one channel may have under way. */
const slots = { in: 1_000, out: 128 } as const;

function stop(pair: Pair): void {
  pair.in.stop();
  pair.out.stop();
}

// How messages come in: by the rules of their channel in the running configuration, since a
// connection may outlive the one that opened it. A channel that left keeps its last rules.

/** Who may talk on a channel, and how its messages are routed and merged. */
type Rules = Omit<GatedChannel, 'channel' | 'access'> & Pick<ActiveChannel, 'access'>;

class Intake {
  readonly #deps: Deps;
  readonly #gate: Gate;
  readonly #recent: RecentMessages;
  readonly #rules = new Map<ChannelKey, Rules>();

  constructor(deps: Deps, gate: Gate) {
    this.#deps = deps;
    this.#gate = gate;
    this.#recent = new RecentMessages(deps.ledger);
  }

  use(channels: ReadonlyMap<ChannelKey, ActiveChannel>): void {
    for (const [key, channel] of channels) {
      const { access, gatherMs = 0 } = channel;
      const knows = (inbound: Inbound): boolean =>
        isCommand(inbound.text, commandsOn(this.#deps, activeRouteOf(channel, inbound), inbound));
      const routing = new Routing(channel, this.#recent);
      this.#rules.set(key, { access, routing, knows, gatherMs });
    }
  }

  readonly acceptOn = (channel: ChannelKey): Receive => {
    const { ledger } = this.#deps;
    const accept = (batch: readonly Inbound[], place?: Cursor): Promise<ReceiveResult> => {
      const cursors = place === undefined ? [] : [{ channel, ...place }];
      const { access, routing } = this.#rules.get(channel)!;
      if (access === null) return receive(this.#deps, routing, batch, ...cursors);
      return this.#takeAtGate(channel, access, batch, cursors);
    };
    return Object.assign(accept, {
      room: () => ledger.room().messages,
      asksForChats: () => this.#rules.get(channel)!.routing.asksForChats,
      whenRoom: (signal: AbortSignal) => ledger.whenRoom(signal),
      cursor: (name: string) => ledger.cursor(channel, name),
    });
  };

  async #takeAtGate(
    channel: ChannelKey,
    access: AccessConfig,
    batch: readonly Inbound[],
    cursors: readonly CursorMove[],
  ): Promise<ReceiveResult> {
    const labelled = await this.#recent.labelEdits(channel, batch);
    // Reads the current rules each time, since the running configuration may change meanwhile.
    const rules = (): GatedChannel => {
      const now = this.#rules.get(channel)!;
      return { channel, ...now, access: now.access ?? access };
    };
    return receiveAtGate(this.#deps, this.#gate, rules, labelled, ...cursors);
  }
}
