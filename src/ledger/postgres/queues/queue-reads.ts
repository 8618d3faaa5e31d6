/**
 * Reads the unsettled rows of queues, and enters them into the working set in order. Also has the
 * searches over rows and queues that find what this instance does not know.
 */
import type { Message } from '../../../domain/message.ts';
import { plannedTry } from '../../engine/schedule.ts';
import {
  aloneMax,
  chooseSuspects,
  type SoonerReply,
  type CrashIsolation,
  type Suspect,
} from '../../engine/crash-isolation.ts';
import { attemptsMax, type ConversationQueue, type MessageProgress } from '../../engine/queue.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import { foundMessage, foundReply, messageColumns, replyColumns } from '../ledger/stored-rows.ts';
import type { History } from '../ledger/history.ts';
import type { Reads } from '../deps.ts';
import { toText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';
import type { OwnedQueue } from './owned-queue.ts';
import type { OwnedQueues } from './owned-queues.ts';

/** One read covers at most this many queues. */
const queuesMax = 500;

const sameQueue = 'channel = x.channel AND conversation = x.conversation';
const requestedQueues = `json_to_recordset($1) AS x(place integer, channel text COLLATE "C",
  conversation text COLLATE "C", after bigint)`;
const messages = `
SELECT x.place, one.* FROM ${requestedQueues} CROSS JOIN LATERAL (
  SELECT ${messageColumns}, n, replayed,
    EXISTS (SELECT FROM svc.outbox WHERE message_id = inbox.id) AS answered
  FROM svc.inbox AS inbox WHERE ${sameQueue} AND n > x.after OFFSET 0
) AS one
ORDER BY x.place, one.n`;
const replies = `
SELECT x.place, one.* FROM ${requestedQueues} CROSS JOIN LATERAL (
  SELECT ${replyColumns}, seq FROM svc.outbox WHERE ${sameQueue} OFFSET 0
) AS one
ORDER BY x.place, one.seq`;

export type QueueReadsDeps = {
  readonly rows: WorkingSet;
  readonly queues: OwnedQueues;
  readonly history: Pick<History, 'drop'>;
  readonly reads: Reads;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with replies whose next try lay too far ahead. */
  readonly sooner: (replies: readonly SoonerReply[]) => void;
  /** Isolates messages that may have ended a process. */
  readonly crashIsolation: Pick<CrashIsolation, 'hold' | 'suspects'>;
  /** Called when reading has failed for good. */
  readonly failed: (error: unknown) => void;
};

/** A queue as it was when its read began. */
type ReadRequest = {
  readonly queue: OwnedQueue;
  readonly upTo: number;
  readonly isWhole: boolean;
};

export class QueueReads {
  readonly #deps: QueueReadsDeps;
  #running: Promise<void> | null = null;
  #underWay: Promise<void> = Promise.resolve();

  constructor(deps: QueueReadsDeps) {
    this.#deps = deps;
  }

  /** Reads all queues that are to be read. Resolves when none is left; never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      // A queue may have come after the last check.
      if (this.#deps.queues.unread.hasAny) void this.run();
    });
    return this.#running;
  }

  /** Resolves when the rows that are being read now have been entered, or cannot be. */
  async underWay(): Promise<void> {
    await this.#underWay.catch(() => {});
  }

  async #run(): Promise<void> {
    const { queues, failed } = this.#deps;
    // Queues that are taken together are read together.
    await Promise.resolve();
    try {
      while (queues.unread.hasAny) {
        const unread = queues.unread.take();
        for (let from = 0; from < unread.length; from += queuesMax) {
          this.#underWay = this.#read(unread.slice(from, from + queuesMax));
          await this.#underWay;
        }
        queues.unread.allRead();
      }
    } catch (error) {
      // When all queues are released, the connection for reads is closed.
      if (!queues.isClosing) failed(error);
    }
  }

  async #read(unread: readonly OwnedQueue[]): Promise<void> {
    const { reads, queues, rows, crashIsolation } = this.#deps;
    const all = unread.map((queue): ReadRequest => {
      return { queue, upTo: queue.upTo, isWhole: queue.unread === 'all' };
    });
    const places = all.map(placeOf);
    const whole = places.filter((_place, at) => all[at]!.isWhole);
    const [inbox, outbox] = await Promise.all([
      reads.ask({ text: messages, values: [JSON.stringify(places)] }),
      whole.length === 0 ? [] : reads.ask({ text: replies, values: [JSON.stringify(whole)] }),
    ]);
    const messagesByPlace = Map.groupBy(inbox, ({ place }) => Number(place));
    const repliesByPlace = Map.groupBy(outbox, ({ place }) => Number(place));
    const suspects: Suspect[] = [];
    // The working set offers the oldest first.
    const ids = all.map(
      (_one, at) => (messagesByPlace.get(at)?.[0]?.['id'] as string | undefined) ?? '',
    );
    const inOrder = [...all.entries()].sort(([a], [b]) => (ids[a]! < ids[b]! ? -1 : 1));
    for (const [at, one] of inOrder) {
      if (!queues.has(one.queue) || one.queue.isLeaving) continue;
      const suspect = this.#enter(one, messagesByPlace.get(at) ?? [], repliesByPlace.get(at) ?? []);
      if (suspect !== null) suspects.push(suspect);
    }
    crashIsolation.hold(chooseSuspects(rows, suspects, crashIsolation.suspects));
  }

  /** Enters all messages before the first reply, and all replies before a message is offered. */
  #enter({ queue, upTo, isWhole }: ReadRequest, inbox: Rows, outbox: Rows): Suspect | null {
    const { rows, queues } = this.#deps;
    const { channel, conversation } = queue;
    const wasBusy = rows.queuesOn(channel, conversation)[0]?.inBusy === true;
    const known = rows.hold(channel, conversation);
    const isFirst = known.inbox.length === 0;
    const progressOf = new Map<string, MessageProgress>();
    const unknown = inbox.filter(({ n }) => Number(n) > queue.tail);
    const suspect = this.#enterMessages(queue, unknown, isWhole && isFirst, progressOf);
    this.#enterReplies(known, outbox, progressOf);
    rows.goOn(known, wasBusy || suspect !== null);
    queues.readEnded(queue, Math.max(upTo, Number(unknown.at(-1)?.['n'] ?? 0)), unknown.length);
    return suspect;
  }

  /** @param isFirst whether the first message of `inbox` is the first of its queue */
  #enterMessages(
    queue: OwnedQueue,
    inbox: Rows,
    isFirst: boolean,
    progressOf: Map<string, MessageProgress>,
  ): Suspect | null {
    const { rows } = this.#deps;
    let suspect: Suspect | null = null;
    if (inbox.some(({ replayed }) => replayed === true)) this.#drop(queue);
    for (const [at, found] of inbox.entries()) {
      const { stored, attempts, alone } = foundMessage(found, rows.nextSeq());
      const row = rows.restoreMessage(stored, arrivedMessage(queue, stored.head.id));
      row.attempt = attempts + 1;
      row.poison = alone >= aloneMax;
      if (found['answered'] === true) progressOf.set(stored.head.id, row.progress);
      const isSuspect = row.poison || attempts >= attemptsMax;
      if (isFirst && at === 0 && isSuspect) suspect = { row, alone };
    }
    return suspect;
  }

  /**
   * A dead letter was replayed. The turn that dead-lettering it had left is gone, so the history
   * that this instance knows is stale.
   */
  #drop({ channel, conversation }: OwnedQueue): void {
    const { rows, history } = this.#deps;
    rows.outdate(channel, conversation);
    history.drop({ channel, conversation });
  }

  #enterReplies(
    known: ConversationQueue,
    outbox: Rows,
    progressOf: Map<string, MessageProgress>,
  ): void {
    const { rows, now, sooner } = this.#deps;
    const moved: SoonerReply[] = [];
    for (const found of outbox) {
      const { stored, state, retryAfterMs } = foundReply(found, rows.nextSeq());
      if (known.hasReply(stored.head.id)) continue;
      const { inReplyTo } = stored.head;
      const { dueAt, aheadMs } = plannedTry(state, retryAfterMs, now());
      const progress = progressOf.get(inReplyTo) ?? null;
      const row = rows.restoreReply(stored, progress, { ...state, dueAt });
      progressOf.set(inReplyTo, row.progress);
      if (dueAt !== null && aheadMs > 0) moved.push({ row, dueAt, aheadMs });
    }
    if (moved.length > 0) sooner(moved);
  }
}

function placeOf({ queue, isWhole }: ReadRequest, place: number): object {
  const { channel, conversation, tail } = queue;
  return { place, channel, conversation: toText(conversation), after: isWhole ? 0 : tail };
}

/** A message that arrived at this instance, so that its text need not be read again. */
function arrivedMessage(queue: OwnedQueue, id: string): Message | null {
  return queue.arrived.find(({ arrival }) => arrival.message.id === id)?.arrival.message ?? null;
}

// Finds messages that other instances accepted in queues that only replies keep here. Such messages
// show when the queue is released. But a reply may wait long for its next try, and the messages
// must not wait with it. A queue with messages shows new ones by a gap in the numbers, or is
// released after its last message.

/** One search covers at most this many queues; the others have their turn after them. */
const grownQueuesMax = 1_000;

const tails = `
SELECT x.place, lane.tail FROM json_to_recordset($1) AS x(place integer, channel text COLLATE "C",
  conversation text COLLATE "C", epoch bigint)
CROSS JOIN LATERAL (
  SELECT tail, epoch FROM svc.lane WHERE channel = x.channel AND conversation = x.conversation
  OFFSET 0
) AS lane WHERE lane.epoch = x.epoch`;

type GrownQueuesDeps = {
  readonly rows: WorkingSet;
  readonly queues: OwnedQueues;
  readonly reads: Reads;
};

export class GrownQueues {
  readonly #deps: GrownQueuesDeps;
  #isChecking = false;
  /** How many queues earlier searches covered, so that each has its turn. */
  #from = 0;

  constructor(deps: GrownQueuesDeps) {
    this.#deps = deps;
  }

  /** Does nothing while a search is under way. Never rejects. */
  async check(): Promise<void> {
    const waiting = this.#isChecking ? [] : this.#waiting();
    if (waiting.length === 0) return;
    this.#isChecking = true;
    const { queues, reads } = this.#deps;
    try {
      const named = waiting.map(({ channel, conversation, epoch }, place) => {
        return { place, channel, conversation: toText(conversation), epoch };
      });
      const found = await reads.ask({ text: tails, values: [JSON.stringify(named)] });
      for (const { place, tail } of found)
        queues.mayHaveGrown(waiting[Number(place)]!, Number(tail));
    } catch {
      // The next heartbeat searches again.
    } finally {
      this.#isChecking = false;
    }
  }

  #waiting(): readonly OwnedQueue[] {
    const all = [...this.#deps.queues].filter((queue) => this.#waitsForReplies(queue));
    if (this.#from >= all.length) this.#from = 0;
    const some = all.slice(this.#from, this.#from + grownQueuesMax);
    this.#from += some.length;
    return some;
  }

  #waitsForReplies({ channel, conversation }: OwnedQueue): boolean {
    const [known] = this.#deps.rows.queuesOn(channel, conversation);
    return known !== undefined && known.inbox.length === 0 && known.outbox.length > 0;
  }
}
