/**
 * Which conversations this instance works: it takes lanes with the messages that it accepts, and
 * those in which rows wait; it lets go of what is quiet, and of what it may not work any more; and
 * as the keeper it makes free what the dead have had.
 */
import { channelTypeOf, timeText, type ChannelKey } from '../../../domain/ids.ts';
import { aborted } from '../../../lib/stop.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { SoonerReply } from '../../engine/recovering.ts';
import type { Theirs } from '../../engine/storage.ts';
import type { CrashIsolation } from '../../engine/order/crash-isolation.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import type { Counting } from '../ledger/counting.ts';
import { soonerWrite } from '../ledger/deferred.ts';
import type { History } from '../ledger/history.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import type { Taker } from '../write/accepts.ts';
import { janitorLease, type BeatingPeers } from '../peers/peers.ts';
import { GrownQueues, QueueReads } from './queue-reads.ts';
import { RowPages, type QueueName } from './row-pages.ts';
import { LostQueues, OwnedQueues } from './owned-queues.ts';
import { Moves, whereOf, type Taking } from './moves.ts';
import type { OwnedQueue } from './owned-queue.ts';
import { messengerTypes } from '../../../channels/registry.ts';
import type { Peers } from '../../../cluster/peers.ts';

/** What of the news of a beat concerns lanes. */
export type QueueNews = {
  readonly alive: readonly { readonly id: number }[];
  readonly unburied: readonly { readonly id: number }[];
  readonly posts: readonly { readonly name: string; readonly owner: number | null }[];
};

export type QueuesDeps = {
  readonly instance: number;
  readonly rows: WorkingSet;
  readonly history: History;
  /** For what messages wait for. */
  readonly reads: Reads;
  readonly slowReads: Reads;
  /** So many messages this instance has in hand at most; the rest waits for whoever has room. */
  readonly heldMax: number;
  readonly counting: Counting;
  /** Is told how many dead letters there are; null: as many as this instance knows of. */
  readonly lettersCounted: (letters: number | null) => void;
  /** Is told of replies whose next try lay too far ahead. */
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
  #peers: BeatingPeers | null = null;
  #reading: QueueReads | null = null;
  #lost: LostQueues | null = null;
  #unknown: UnknownQueues | null = null;
  #grown: GrownQueues | null = null;
  #crashIsolation: CrashIsolation | null = null;
  /** The channels that are served here; null: nobody has said yet. */
  #served: readonly ChannelKey[] | null = null;
  #leases: QueueNews['posts'] = [];
  /** Those that are dead, and whose lanes may not be free. */
  #unburied: readonly number[] = [];
  #heard: () => void = () => {};
  /** An answer was lost: lanes may be taken that are not known here. */
  #isUnsure = false;
  #taking: Promise<void> | null = null;
  #isAsked = false;
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

  /** Begins to work lanes. @param failed nothing can be read any more */
  begin(
    batches: PostgresBatches,
    peers: BeatingPeers,
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
      takesParked: () => peers.share() === 1,
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
   * Takes up the posts that every instance wants, and what waits if there is nobody else. Resolves
   * once it is known who has them, and what it took can be worked.
   * @param end ends the posts
   */
  async start(end: AbortSignal): Promise<void> {
    const peers = this.#peers!;
    for (const lease of [janitorLease, crashIsolationLease]) void peers.hold(lease, aborted, end);
    await this.#heardOfLeases();
    if (this.#batches!.broken) throw new Error('another instance has the database for itself');
    this.owned.keepParked(peers.share() === 1);
    if (peers.share() > 1) return;
    await this.#lost!.look(this.#unburied, true);
    await this.takeWaiting();
  }

  /** What is accepted now is taken, if there is room. */
  get taker(): Taker {
    const { instance } = this.#deps;
    const takesSuspects = this.#peers?.holds(crashIsolationLease) === true;
    return { instance, takes: this.#hasRoom, takesSuspects };
  }

  /** Lanes that are being read or taken. */
  get pending(): number {
    return this.owned.unread.pending + this.moves.pending;
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#served = channels;
    this.#letGoOfOthers();
    void this.takeWaiting();
  }

  hear({ unburied, posts: leases, alive }: QueueNews): void {
    this.#leases = leases;
    this.#unburied = unburied.map(({ id }) => id);
    const ids = new Set(alive.map(({ id }) => id));
    const isHad = (lease: string): boolean =>
      leases.some(({ name, owner }) => name === lease && owner !== null && ids.has(owner));
    if (isHad(janitorLease) && isHad(crashIsolationLease)) this.#heard();
    // What was accepted at the last moment is left to others as well.
    if (this.#closing) return this.drain();
    this.owned.keepParked(this.#peers?.share() === 1);
    this.#letGoOfOthers();
    if (this.#isTrying) this.#letGoOfUntried();
    void this.#count();
    void this.#unknown?.look();
    if (this.#peers!.share() > 1) void this.#grown?.look();
    if (this.#peers?.holds(janitorLease) === true) {
      const looked = this.#lost!.look(this.#unburied);
      if (unburied.length > 0) void looked.then(() => this.takeWaiting());
    }
    void this.takeWaiting();
  }

  /** As many as there is room for; resolves when they are in the working set. Never rejects. */
  takeWaiting(): Promise<void> {
    this.#isAsked = true;
    this.#taking ??= this.#takeAll().finally(() => {
      this.#taking = null;
      // It may have been asked for after the last look.
      if (this.#isAsked && this.#batches?.broken === false) void this.takeWaiting();
    });
    return this.#taking;
  }

  async #takeAll(): Promise<void> {
    while (this.#isAsked && this.#batches?.broken === false) {
      this.#isAsked = false;
      if (this.#isUnsure) this.#isUnsure = !(await this.moves.takeBefore());
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
  async forget(theirs: Theirs): Promise<void> {
    this.owned.forget(theirs);
    await this.#reading?.underWay();
  }

  /** Frees all lanes that are not at work, in order: others go on with them. */
  drain(): void {
    this.#closing = true;
    if (this.owned.isClosing || this.#peers === null || !this.#hasOthers) return;
    for (const queue of this.owned) this.owned.leave(queue);
    this.#crashIsolation?.changed();
  }

  /** Lets go of all, with what lies in them. */
  close(): void {
    this.#closing = true;
    this.moves.close();
    this.owned.close();
  }

  /** What this instance has not in hand, as of the last count. */
  get elsewhere(): { readonly messages: number; readonly bytes: number } {
    return this.#deps.counting.elsewhere;
  }

  #count(): Promise<void> {
    const { rows, heldMax, counting, lettersCounted } = this.#deps;
    const { totals } = rows;
    const hasOthers = (): boolean => this.#peers!.share() > 1;
    return counting.count({
      held: () => ({ messages: totals.unsettled, bytes: totals.bytes }),
      // Alone, and with room for all that waits, this instance has everything in hand.
      isPartial: () => hasOthers() || totals.unsettled >= heldMax / 2,
      hasOthers,
      lettersCounted,
    });
  }

  /** While a suspect is tried here, the other instances work what comes. */
  get #isTrying(): boolean {
    return this.#hasOthers && this.#crashIsolation?.isTrying === true;
  }

  get #hasOthers(): boolean {
    return this.#peers !== null && this.#peers.share() > 1;
  }

  get #hasRoom(): boolean {
    const { rows, heldMax } = this.#deps;
    // Alone it works on what waits, until it lets go of all.
    if (this.#closing && (this.#hasOthers || this.owned.isClosing)) return false;
    return !this.#isTrying && rows.totals.unsettled < heldMax;
  }

  /** Resolves when somebody alive has each post; also when there are no more news. */
  #heardOfLeases(): Promise<void> {
    return new Promise((resolve) => {
      this.#heard = resolve;
      this.#peers!.heartbeat.onEnd(resolve);
    });
  }

  /** Also of what was served here when it was looked for, and was taken later. */
  #letGoOfOthers(): void {
    const others = channelsOfOthers(this.#served, this.#peers!, this.#leases);
    let hasLeft = false;
    for (const queue of this.owned) {
      if (queue.isLeaving || !others(queue.channel)) continue;
      this.owned.leave(queue);
      hasLeft = true;
    }
    if (hasLeft) this.#crashIsolation?.changed();
  }

  /** What is not in hand, and is not tried itself. */
  #letGoOfUntried(): void {
    const { rows } = this.#deps;
    for (const queue of this.owned) {
      const [known] = rows.queuesOn(queue.channel, queue.conversation);
      const first = known?.inbox.peek();
      const isSuspect = first !== undefined && this.#crashIsolation!.has(first);
      if (!queue.isLeaving && !isSuspect) this.owned.leave(queue);
    }
  }
}

// Of which channels an instance may take lanes.

/** The post of the one that tries suspects. */
const crashIsolationLease = 'quarantine';

/** So many rows of channels that are not served are in hand at most. */
const unservedMax = 5_000;

/**
 * A messenger's lanes are worked where its post is; the keeper has those that nobody serves. Nobody
 * else may try a messenger's suspects, so they are tried there as well, whoever tries the others.
 * @param served null: nobody has said yet
 */
function channelsToWork(
  served: readonly ChannelKey[] | null,
  peers: Pick<Peers, 'share' | 'holds'>,
  rows: Pick<WorkingSet, 'backlog'>,
): Pick<Taking, 'channels' | 'allBut' | 'suspectsOf'> {
  const triesAll = peers.holds(crashIsolationLease);
  if (served === null) {
    const allBut = peers.share() === 1 ? [] : null;
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
 * A messenger's lanes are another's that has its post; those that are not served here are the
 * keeper's, or belong to whoever serves them.
 * @param served as for `channelsToWork`
 * @returns whether a channel is one of those
 */
function channelsOfOthers(
  served: readonly ChannelKey[] | null,
  peers: Pick<Peers, 'id' | 'share' | 'holds'>,
  leases: readonly { readonly name: string; readonly owner: number | null }[],
): (channel: ChannelKey) => boolean {
  const theirs = leases.filter(({ owner }) => owner !== null && owner !== peers.id);
  const had = new Set(theirs.flatMap(({ name }) => (isLease(name) ? [name] : [])));
  const own = peers.share() === 1 || peers.holds(janitorLease) ? null : served;
  return (channel) => had.has(channel) || own?.includes(channel) === false;
}

/** Whether one instance alone works that channel: the one with the post of its name. */
function isLease(channel: string): boolean {
  return (messengerTypes as readonly string[]).includes(channelTypeOf(channel as ChannelKey));
}

// Finds lanes that are this instance's by the tables, and that it does not know: a crash of the
// server has undone that they were let go. Whoever accepts a message there leaves it to this
// instance. At each beat a page of the rows is looked at that have lain for a while.

/** What is in hand is seldom older. */
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
  #isLooking = false;

  constructor(deps: UnknownQueuesDeps) {
    this.#deps = deps;
    this.#pages = new RowPages(deps.reads, 'lane.owner = $2', ' AND id < $3');
  }

  /** Nothing is done while a look goes on. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { instance, now, isKnown, take } = this.#deps;
      const { queues } = await this.#pages.next(instance, timeText(now() - oldMs));
      const unknown = queues.filter((queue) => !isKnown(queue));
      if (unknown.length > 0) await take(unknown);
    } catch {
      // The next beat looks again.
    } finally {
      this.#isLooking = false;
    }
  }
}
