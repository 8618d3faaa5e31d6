/**
 * Which conversations this instance works. It takes queues with the messages that it accepts, and
 * queues in which rows wait. It releases queues that are quiet, and queues that it may not work any
 * more. As the janitor it frees the queues of dead instances.
 */
import { channelTypeOf, timeText, type ChannelKey } from '../../../domain/ids.ts';
import { aborted } from '../../../lib/stop.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { SoonerReply, CrashIsolation } from '../../engine/crash-isolation.ts';
import type { OthersRows } from '../../engine/storage.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { Counting } from '../ledger/counting.ts';
import { soonerWrite } from '../ledger/deferred.ts';
import type { History } from '../ledger/history.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import type { Taker } from '../write/accepts.ts';
import { type PeersWithHeartbeat } from '../peers/peers.ts';
import { GrownQueues, QueueReads } from './queue-reads.ts';
import { RowPages, type QueueName } from './row-pages.ts';
import { LostQueues, OwnedQueues } from './owned-queues.ts';
import { Moves, whereOf, type TakeFilter } from './moves.ts';
import type { OwnedQueue } from './owned-queue.ts';
import { messengerTypes } from '../../../channels/registry.ts';
import { janitorLease } from '../../../cluster/cluster.ts';
import type { Peers } from '../../../cluster/backend.ts';

/** The part of a heartbeat's news that concerns queues. */
export type QueueNews = {
  readonly alive: readonly { readonly id: number }[];
  readonly unburied: readonly { readonly id: number }[];
  readonly leases: readonly { readonly name: string; readonly owner: number | null }[];
};

export type QueuesDeps = {
  readonly instance: number;
  readonly rows: WorkingSet;
  readonly history: History;
  /** For reads that messages wait for. */
  readonly reads: Reads;
  readonly slowReads: Reads;
  /**
   * How many messages this instance has in hand at most; the rest waits for an instance with room.
   */
  readonly heldMax: number;
  readonly counting: Counting;
  /** Called with the number of dead letters; null: as many as this instance knows. */
  readonly lettersCounted: (letters: number | null) => void;
  /** Called with replies whose next try lay too far ahead. */
  readonly sooner: (replies: readonly SoonerReply[]) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly steady: () => SteadyTime;
};

export class Queues {
  readonly owned: OwnedQueues;
  readonly moves: Moves;
  readonly #deps: QueuesDeps;
  #batches: PostgresBatches | null = null;
  #peers: PeersWithHeartbeat | null = null;
  #reading: QueueReads | null = null;
  #lost: LostQueues | null = null;
  #unknown: UnknownQueues | null = null;
  #grown: GrownQueues | null = null;
  #crashIsolation: CrashIsolation | null = null;
  /** The channels that this instance serves; null: not yet known. */
  #served: readonly ChannelKey[] | null = null;
  #leases: QueueNews['leases'] = [];
  /** Dead instances whose queues may not be free. */
  #unburied: readonly number[] = [];
  #leasesKnown: () => void = () => {};
  /** An answer was lost: this instance may own queues that it does not know. */
  #isUnsure = false;
  #taking: Promise<void> | null = null;
  #takeRequested = false;
  #closing = false;

  constructor(deps: QueuesDeps) {
    this.#deps = deps;
    const { instance, rows, history, steady } = deps;
    this.owned = new OwnedQueues({ instance, rows, history, steady });
    const drop = ({ channel, conversation }: OwnedQueue): boolean => {
      const [known] = rows.queuesOn(channel, conversation);
      if (known === undefined || known.replies === 0) return false;
      return rows.remove(channel, conversation, (row) => row.box === 'out' && row.parked) > 0;
    };
    const soon = (): void => this.#batches?.trailingSoon();
    this.moves = new Moves({ instance, rows, queues: this.owned, drop, soon, steady });
  }

  /** Begins to work queues. @param failed called when reading has failed for good */
  begin(
    batches: PostgresBatches,
    peers: PeersWithHeartbeat,
    crashIsolation: CrashIsolation,
    failed: (error: unknown) => void,
  ): void {
    const { rows, history, reads, slowReads, now } = this.#deps;
    this.#batches = batches;
    this.#peers = peers;
    this.#crashIsolation = crashIsolation;
    const queues = this.owned;
    const sooner = (replies: readonly SoonerReply[]): void => {
      this.#deps.sooner(replies);
      batches.add(soonerWrite(replies));
      batches.flushSoon(() => {});
    };
    const read = { rows, queues, history, reads, now, sooner, crashIsolation, failed };
    const reading = new QueueReads(read);
    this.#reading = reading;
    queues.onChange(() => {
      if (queues.unread.hasAny) void reading.run();
      if (queues.resting.size > 0) batches.trailingSoon();
    });
    this.#lost = new LostQueues({
      reads: slowReads,
      takesParked: () => peers.limitShare() === 1,
      free: (found) => this.moves.free(found, now()),
      write: (text, values) => {
        batches.add({ kind: 'single', text, values });
        return batches.written(() => {});
      },
    });
    this.#grown = new GrownQueues({ rows, queues, reads });
    this.#unknown = new UnknownQueues({
      instance: this.#deps.instance,
      reads: slowReads,
      now,
      isKnown: (queue) => queues.get(whereOf(queue)) !== undefined,
      take: (found) => this.moves.takeOwn(found),
    });
  }

  /**
   * Asks for the leases that every instance wants, and takes waiting queues if it is the only
   * instance. Resolves once the leases have owners, and the queues that it took can be worked.
   * @param end ends the leases
   */
  async start(end: AbortSignal): Promise<void> {
    const peers = this.#peers!;
    for (const lease of [janitorLease, crashIsolationLease])
      void peers.withLease(lease, aborted, end);
    await this.#untilLeasesKnown();
    if (this.#batches!.broken) throw new Error('another instance has the database for itself');
    this.owned.keepParked(peers.limitShare() === 1);
    if (peers.limitShare() > 1) return;
    await this.#lost!.check(this.#unburied, true);
    await this.takeWaiting();
  }

  /** How accepting takes queues now, which depends on the room. */
  get taker(): Taker {
    const { instance } = this.#deps;
    const takesSuspects = this.#peers?.holds(crashIsolationLease) === true;
    return { instance, takes: this.#hasRoom, takesSuspects };
  }

  /** Queues that are being read or taken. */
  get pending(): number {
    return this.owned.unread.pending + this.moves.pending;
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#served = channels;
    this.#leaveOthersQueues();
    void this.takeWaiting();
  }

  hear({ unburied, leases, alive }: QueueNews): void {
    this.#leases = leases;
    this.#unburied = unburied.map(({ id }) => id);
    const ids = new Set(alive.map(({ id }) => id));
    const hasLiveOwner = (lease: string): boolean =>
      leases.some(({ name, owner }) => name === lease && owner !== null && ids.has(owner));
    if (hasLiveOwner(janitorLease) && hasLiveOwner(crashIsolationLease)) this.#leasesKnown();
    // Messages that were accepted at the last moment are left to others as well.
    if (this.#closing) return this.drain();
    this.owned.keepParked(this.#peers?.limitShare() === 1);
    this.#leaveOthersQueues();
    if (this.#isTrying) this.#leaveUntried();
    void this.#count();
    void this.#unknown?.check();
    if (this.#peers!.limitShare() > 1) void this.#grown?.check();
    if (this.#peers?.holds(janitorLease) === true) {
      const checked = this.#lost!.check(this.#unburied);
      if (unburied.length > 0) void checked.then(() => this.takeWaiting());
    }
    void this.takeWaiting();
  }

  /**
   * Takes as many queues as there is room for. Resolves when their rows are in the working set.
   * Never rejects.
   */
  takeWaiting(): Promise<void> {
    this.#takeRequested = true;
    this.#taking ??= this.#takeAll().finally(() => {
      this.#taking = null;
      // A call may have come after the last check.
      if (this.#takeRequested && this.#batches?.broken === false) void this.takeWaiting();
    });
    return this.#taking;
  }

  async #takeAll(): Promise<void> {
    while (this.#takeRequested && this.#batches?.broken === false) {
      this.#takeRequested = false;
      if (this.#isUnsure) this.#isUnsure = !(await this.moves.findEarlierTakes());
      for (let isMore = true; isMore && this.#hasRoom && !this.#isUnsure;) {
        const which = channelsToWork(this.#served, this.#peers!, this.#deps.rows);
        const more = await this.moves.takeWaiting({ ...which, now: this.#deps.now() });
        this.#isUnsure = more === null;
        isMore = more === true;
        await this.#reading?.run();
      }
    }
  }

  /** As `unwanted` of a storage. */
  async forget(theirs: OthersRows): Promise<void> {
    this.owned.forget(theirs);
    await this.#reading?.underWay();
  }

  /**
   * Releases all queues that are not being worked, in order, so that other instances continue them.
   */
  drain(): void {
    this.#closing = true;
    if (this.owned.isClosing || this.#peers === null || !this.#hasOthers) return;
    for (const queue of this.owned) this.owned.startLeaving(queue);
    this.#crashIsolation?.changed();
  }

  /** Releases all queues with their rows. */
  close(): void {
    this.#closing = true;
    this.moves.close();
    this.owned.close();
  }

  /** The rows that this instance does not have in hand, as of the last count. */
  get elsewhere(): { readonly messages: number; readonly bytes: number } {
    return this.#deps.counting.elsewhere;
  }

  #count(): Promise<void> {
    const { rows, heldMax, counting, lettersCounted } = this.#deps;
    const { totals } = rows;
    const hasOthers = (): boolean => this.#peers!.limitShare() > 1;
    return counting.count({
      held: () => ({ messages: totals.unsettled, bytes: totals.bytes }),
      // The only instance, with room for all waiting rows, has everything in hand.
      isPartial: () => hasOthers() || totals.unsettled >= heldMax / 2,
      hasOthers,
      lettersCounted,
    });
  }

  /** While this instance tries a suspected message alone, the others work new messages. */
  get #isTrying(): boolean {
    return this.#hasOthers && this.#crashIsolation?.isTrying === true;
  }

  get #hasOthers(): boolean {
    return this.#peers !== null && this.#peers.limitShare() > 1;
  }

  get #hasRoom(): boolean {
    const { rows, heldMax } = this.#deps;
    // The only instance works waiting rows until it releases all.
    if (this.#closing && (this.#hasOthers || this.owned.isClosing)) return false;
    return !this.#isTrying && rows.totals.unsettled < heldMax;
  }

  /** Resolves when a live instance has each lease; also when no more news come. */
  #untilLeasesKnown(): Promise<void> {
    return new Promise((resolve) => {
      this.#leasesKnown = resolve;
      this.#peers!.heartbeat.onEnd(resolve);
    });
  }

  /** Also leaves queues that were looked for while this instance served them, and taken later. */
  #leaveOthersQueues(): void {
    const others = channelsOfOthers(this.#served, this.#peers!, this.#leases);
    let anyLeft = false;
    for (const queue of this.owned) {
      if (queue.isLeaving || !others(queue.channel)) continue;
      this.owned.startLeaving(queue);
      anyLeft = true;
    }
    if (anyLeft) this.#crashIsolation?.changed();
  }

  /**
   * Leaves the queues that are not in hand, except those of the suspected messages that it tries.
   */
  #leaveUntried(): void {
    const { rows } = this.#deps;
    for (const queue of this.owned) {
      const [known] = rows.queuesOn(queue.channel, queue.conversation);
      const first = known?.inbox.peek();
      const isSuspect = first !== undefined && this.#crashIsolation!.has(first);
      if (!queue.isLeaving && !isSuspect) this.owned.startLeaving(queue);
    }
  }
}

// The channels whose queues an instance may take.

/** The lease of the instance that tries suspected messages. */
const crashIsolationLease = 'quarantine';

/** At most this many rows of channels that are not served are in hand. */
const unservedMax = 5_000;

/**
 * The instance with a messenger's lease works the queues of that messenger. It also tries their
 * suspected messages, since no other instance may; another one may try the suspected messages of
 * other channels. The janitor works the queues of channels that no instance serves.
 * @param served null: not yet known
 */
function channelsToWork(
  served: readonly ChannelKey[] | null,
  peers: Pick<Peers, 'limitShare' | 'holds'>,
  rows: Pick<WorkingSet, 'backlog'>,
): Pick<TakeFilter, 'channels' | 'allBut' | 'suspectsOf'> {
  const triesAll = peers.holds(crashIsolationLease);
  if (served === null) {
    const allBut = peers.limitShare() === 1 ? [] : null;
    return { channels: [], allBut, suspectsOf: triesAll ? 'all' : [] };
  }
  const channels = served.filter((channel) => !isLease(channel) || peers.holds(channel));
  const others = rows.backlog().filter(({ channel }) => !served.includes(channel));
  const unserved = others.reduce((sum, { inbox, outbox }) => sum + inbox + outbox, 0);
  const takesOthers = peers.holds(janitorLease) && unserved < unservedMax;
  const suspectsOf = triesAll ? 'all' : channels.filter(isLease);
  return { channels, allBut: takesOthers ? served : null, suspectsOf };
}

/**
 * A messenger's queues belong to the instance with its lease. Queues of channels that are not
 * served here belong to the janitor, or to an instance that serves them.
 * @param served as for `channelsToWork`
 * @returns whether the queues of a channel belong to another instance
 */
function channelsOfOthers(
  served: readonly ChannelKey[] | null,
  peers: Pick<Peers, 'id' | 'limitShare' | 'holds'>,
  leases: readonly { readonly name: string; readonly owner: number | null }[],
): (channel: ChannelKey) => boolean {
  const theirs = leases.filter(({ owner }) => owner !== null && owner !== peers.id);
  const leasedElsewhere = new Set(theirs.flatMap(({ name }) => (isLease(name) ? [name] : [])));
  const own = peers.limitShare() === 1 || peers.holds(janitorLease) ? null : served;
  return (channel) => leasedElsewhere.has(channel) || own?.includes(channel) === false;
}

/** Whether one instance alone works that channel: the one with the lease of its name. */
function isLease(channel: string): boolean {
  return (messengerTypes as readonly string[]).includes(channelTypeOf(channel as ChannelKey));
}

// Finds queues that belong to this instance by the tables, but that it does not know: a crash of
// the server has undone their release. Other instances leave messages that they accept there to
// this one. At each heartbeat this checks a page of rows that have lain for some time.

/** Rows in hand are seldom older. */
const oldMs = 10_000;

type UnknownQueuesDeps = {
  readonly instance: number;
  readonly reads: Reads;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly isKnown: (queue: QueueName) => boolean;
  readonly take: (queues: readonly QueueName[]) => Promise<void>;
};

export class UnknownQueues {
  readonly #deps: UnknownQueuesDeps;
  readonly #pages: RowPages;
  #isChecking = false;

  constructor(deps: UnknownQueuesDeps) {
    this.#deps = deps;
    this.#pages = new RowPages(deps.reads, 'lane.owner = $2', ' AND id < $3');
  }

  /** Does nothing while a check is under way. Never rejects. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const { instance, now, isKnown, take } = this.#deps;
      const { queues } = await this.#pages.next(instance, timeText(now() - oldMs));
      const unknown = queues.filter((queue) => !isKnown(queue));
      if (unknown.length > 0) await take(unknown);
    } catch {
      // The next heartbeat checks again.
    } finally {
      this.#isChecking = false;
    }
  }
}
