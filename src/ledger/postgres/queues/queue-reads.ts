/** What lies unsettled in lanes: read, and put into the working set in its order. */
import type { Message } from '../../../domain/message.ts';
import { plannedTry } from '../../engine/durability.ts';
import type { SoonerReply } from '../../engine/recovering.ts';
import {
  aloneMax,
  attemptsMax,
  chooseSuspects,
  type CrashIsolation,
  type Suspect,
} from '../../engine/order/crash-isolation.ts';
import type { ConversationQueue, MessageProgress } from '../../engine/order/rows.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import { foundMessage, foundReply, messageColumns, replyColumns } from '../ledger/stored-rows.ts';
import type { History } from '../ledger/history.ts';
import type { Reads } from '../deps.ts';
import { toText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';
import type { OwnedQueue } from './owned-queue.ts';
import type { OwnedQueues } from './owned-queues.ts';

/** So many lanes are read at once. */
const queuesMax = 500;

const here = 'channel = x.channel AND conversation = x.conversation';
const asked = `json_to_recordset($1) AS x(place integer, channel text COLLATE "C",
  conversation text COLLATE "C", after bigint)`;
const messages = `
SELECT x.place, one.* FROM ${asked} CROSS JOIN LATERAL (
  SELECT ${messageColumns}, n, replayed,
    EXISTS (SELECT FROM svc.outbox WHERE message_id = inbox.id) AS answered
  FROM svc.inbox AS inbox WHERE ${here} AND n > x.after OFFSET 0
) AS one
ORDER BY x.place, one.n`;
const replies = `
SELECT x.place, one.* FROM ${asked} CROSS JOIN LATERAL (
  SELECT ${replyColumns}, seq FROM svc.outbox WHERE ${here} OFFSET 0
) AS one
ORDER BY x.place, one.seq`;

export type QueueReadsDeps = {
  readonly rows: WorkingSet;
  readonly queues: OwnedQueues;
  readonly history: Pick<History, 'drop'>;
  readonly reads: Reads;
  /** Holds messages that may have ended a process. */
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Is told of replies whose next try lay too far ahead. */
  readonly sooner: (replies: readonly SoonerReply[]) => void;
  readonly crashIsolation: Pick<CrashIsolation, 'hold' | 'suspects'>;
  /** Nothing can be read any more. */
  readonly failed: (error: unknown) => void;
};

/** A lane as it was when it was asked for. */
type Asked = {
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

  /** Reads all that are to be read. Resolves when none is left; never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      // It may have come after the last look.
      if (this.#deps.queues.unread.hasAny) void this.run();
    });
    return this.#running;
  }

  /** Resolves when what is being read just now has been entered, or cannot be. */
  async underWay(): Promise<void> {
    await this.#underWay.catch(() => {});
  }

  async #run(): Promise<void> {
    const { queues, failed } = this.#deps;
    // Those that are taken together are read together.
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
      // When all lanes are let go the connection that reads is closed.
      if (!queues.isClosing) failed(error);
    }
  }

  async #read(unread: readonly OwnedQueue[]): Promise<void> {
    const { reads, queues } = this.#deps;
    const all = unread.map((queue): Asked => {
      return { queue, upTo: queue.upTo, isWhole: queue.unread === 'all' };
    });
    const places = all.map(placed);
    const whole = places.filter((_place, at) => all[at]!.isWhole);
    const [inbox, outbox] = await Promise.all([
      reads.ask({ text: messages, values: [JSON.stringify(places)] }),
      whole.length === 0 ? [] : reads.ask({ text: replies, values: [JSON.stringify(whole)] }),
    ]);
    const said = Map.groupBy(inbox, ({ place }) => Number(place));
    const answered = Map.groupBy(outbox, ({ place }) => Number(place));
    const tried: Suspect[] = [];
    // The oldest are offered first.
    const ids = all.map((_one, at) => (said.get(at)?.[0]?.['id'] as string | undefined) ?? '');
    const inOrder = [...all.entries()].sort(([a], [b]) => (ids[a]! < ids[b]! ? -1 : 1));
    for (const [at, one] of inOrder) {
      if (!queues.has(one.queue) || one.queue.isLeaving) continue;
      const suspect = this.#enter(one, said.get(at) ?? [], answered.get(at) ?? []);
      if (suspect !== null) tried.push(suspect);
    }
    this.#hold(tried);
  }

  #hold(tried: readonly Suspect[]): void {
    const { rows, crashIsolation } = this.#deps;
    const chosen = chooseSuspects(tried, crashIsolation.suspects);
    for (const one of tried) if (!chosen.includes(one)) rows.goOn(one.row.queue);
    crashIsolation.hold(chosen);
  }

  /** All messages are there before the first reply, and all replies before a message is offered. */
  #enter({ queue, upTo, isWhole }: Asked, inbox: Rows, outbox: Rows): Suspect | null {
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
    queues.wasRead(queue, Math.max(upTo, Number(unknown.at(-1)?.['n'] ?? 0)), unknown.length);
    return suspect;
  }

  /** @param isFirst what is first here is the first of its lane */
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
      const row = rows.restoreMessage(stored, textOf(queue, stored.head.id));
      row.attempt = attempts + 1;
      row.poison = alone >= aloneMax;
      if (found['answered'] === true) progressOf.set(stored.head.id, row.progress);
      const isSuspect = row.poison || attempts >= attemptsMax;
      if (isFirst && at === 0 && isSuspect) suspect = { row, alone };
    }
    return suspect;
  }

  /** With a message that was dead the turn went that its burial had left. */
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

function placed({ queue, isWhole }: Asked, place: number): object {
  const { channel, conversation, tail } = queue;
  return { place, channel, conversation: toText(conversation), after: isWhole ? 0 : tail };
}

/** What came to this instance need not be read again. */
function textOf(queue: OwnedQueue, id: string): Message | null {
  return queue.arrived.find(({ arrival }) => arrival.message.id === id)?.arrival.message ?? null;
}

// Finds what other instances have accepted in lanes that are kept by replies alone. When a lane is
// let go such messages show, but a reply may wait long for its next try, and they are not to wait
// with it. Lanes with messages show them by the next number, or are let go after the last of them.

/** So many lanes are looked at in one go; the others have their turn after them. */
const grownQueuesQueuesMax = 1_000;

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
  #isLooking = false;
  /** How many were passed over, so that all have their turn. */
  #from = 0;

  constructor(deps: GrownQueuesDeps) {
    this.#deps = deps;
  }

  /** Nothing is done while a look goes on. Never rejects. */
  async look(): Promise<void> {
    const waiting = this.#isLooking ? [] : this.#waiting();
    if (waiting.length === 0) return;
    this.#isLooking = true;
    const { queues, reads } = this.#deps;
    try {
      const named = waiting.map(({ channel, conversation, epoch }, place) => {
        return { place, channel, conversation: toText(conversation), epoch };
      });
      const found = await reads.ask({ text: tails, values: [JSON.stringify(named)] });
      for (const { place, tail } of found)
        queues.mayHaveGrown(waiting[Number(place)]!, Number(tail));
    } catch {
      // The next beat looks again.
    } finally {
      this.#isLooking = false;
    }
  }

  #waiting(): readonly OwnedQueue[] {
    const all = [...this.#deps.queues].filter((queue) => this.#waitsForReplies(queue));
    if (this.#from >= all.length) this.#from = 0;
    const some = all.slice(this.#from, this.#from + grownQueuesQueuesMax);
    this.#from += some.length;
    return some;
  }

  #waitsForReplies({ channel, conversation }: OwnedQueue): boolean {
    const [known] = this.#deps.rows.queuesOn(channel, conversation);
    return known !== undefined && known.inbox.length === 0 && known.outbox.length > 0;
  }
}
