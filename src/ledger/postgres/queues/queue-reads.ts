/** What lies unsettled in lanes: read, and put into the working set in its order. */
import type { Message } from '../../../domain/message.ts';
import { plannedTry } from '../../engine/durability.ts';
import type { SoonerReply } from '../../engine/recovering.ts';
import { aloneMax, attemptsMax, chooseSuspects } from '../../engine/order/crash-isolation.ts';
import type { Quarantine, Suspect } from '../../engine/order/crash-isolation.ts';
import type { Lane, MessageProgress } from '../../engine/order/rows.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import { foundMessage, foundReply, messageColumns, replyColumns } from '../ledger/stored-rows.ts';
import type { History } from '../ledger/history.ts';
import type { Reads } from '../deps.ts';
import { toText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';
import type { OwnedLane } from './owned-queue.ts';
import type { OwnedLanes } from './owned-queues.ts';

/** So many lanes are read at once. */
const lanesMax = 500;

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

export type LaneReadsParts = {
  readonly rows: WorkingSet;
  readonly lanes: OwnedLanes;
  readonly history: Pick<History, 'drop'>;
  readonly reads: Reads;
  /** Holds messages that may have ended a process. */
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Is told of replies whose next try lay too far ahead. */
  readonly sooner: (replies: readonly SoonerReply[]) => void;
  readonly quarantine: Pick<Quarantine, 'hold' | 'suspects'>;
  /** Nothing can be read any more. */
  readonly failed: (error: unknown) => void;
};

/** A lane as it was when it was asked for. */
type Asked = {
  readonly lane: OwnedLane;
  readonly upTo: number;
  readonly isWhole: boolean;
};

export class LaneReads {
  readonly #parts: LaneReadsParts;
  #running: Promise<void> | null = null;
  #underWay: Promise<void> = Promise.resolve();

  constructor(parts: LaneReadsParts) {
    this.#parts = parts;
  }

  /** Reads all that are to be read. Resolves when none is left; never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      // It may have come after the last look.
      if (this.#parts.lanes.unread.hasAny) void this.run();
    });
    return this.#running;
  }

  /** Resolves when what is being read just now has been entered, or cannot be. */
  async underWay(): Promise<void> {
    await this.#underWay.catch(() => {});
  }

  async #run(): Promise<void> {
    const { lanes, failed } = this.#parts;
    // Those that are taken together are read together.
    await Promise.resolve();
    try {
      while (lanes.unread.hasAny) {
        const unread = lanes.unread.take();
        for (let from = 0; from < unread.length; from += lanesMax) {
          this.#underWay = this.#read(unread.slice(from, from + lanesMax));
          await this.#underWay;
        }
        lanes.unread.allRead();
      }
    } catch (error) {
      // When all lanes are let go the connection that reads is closed.
      if (!lanes.isClosing) failed(error);
    }
  }

  async #read(unread: readonly OwnedLane[]): Promise<void> {
    const { reads, lanes } = this.#parts;
    const all = unread.map((lane): Asked => {
      return { lane, upTo: lane.upTo, isWhole: lane.unread === 'all' };
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
      if (!lanes.has(one.lane) || one.lane.isLeaving) continue;
      const suspect = this.#enter(one, said.get(at) ?? [], answered.get(at) ?? []);
      if (suspect !== null) tried.push(suspect);
    }
    this.#hold(tried);
  }

  #hold(tried: readonly Suspect[]): void {
    const { rows, quarantine } = this.#parts;
    const chosen = chooseSuspects(tried, quarantine.suspects);
    for (const one of tried) if (!chosen.includes(one)) rows.goOn(one.row.lane);
    quarantine.hold(chosen);
  }

  /** All messages are there before the first reply, and all replies before a message is offered. */
  #enter({ lane, upTo, isWhole }: Asked, inbox: Rows, outbox: Rows): Suspect | null {
    const { rows, lanes } = this.#parts;
    const { channel, conversation } = lane;
    const wasBusy = rows.lanesOn(channel, conversation)[0]?.inBusy === true;
    const known = rows.hold(channel, conversation);
    const isFirst = known.inbox.length === 0;
    const progressOf = new Map<string, MessageProgress>();
    const unknown = inbox.filter(({ n }) => Number(n) > lane.tail);
    const suspect = this.#enterMessages(lane, unknown, isWhole && isFirst, progressOf);
    this.#enterReplies(known, outbox, progressOf);
    rows.goOn(known, wasBusy || suspect !== null);
    lanes.wasRead(lane, Math.max(upTo, Number(unknown.at(-1)?.['n'] ?? 0)), unknown.length);
    return suspect;
  }

  /** @param isFirst what is first here is the first of its lane */
  #enterMessages(
    lane: OwnedLane,
    inbox: Rows,
    isFirst: boolean,
    progressOf: Map<string, MessageProgress>,
  ): Suspect | null {
    const { rows } = this.#parts;
    let suspect: Suspect | null = null;
    if (inbox.some(({ replayed }) => replayed === true)) this.#drop(lane);
    for (const [at, found] of inbox.entries()) {
      const { stored, attempts, alone } = foundMessage(found, rows.nextSeq());
      const row = rows.restoreMessage(stored, textOf(lane, stored.head.id));
      row.attempt = attempts + 1;
      row.condemned = alone >= aloneMax;
      if (found['answered'] === true) progressOf.set(stored.head.id, row.progress);
      const isSuspect = row.condemned || attempts >= attemptsMax;
      if (isFirst && at === 0 && isSuspect) suspect = { row, alone };
    }
    return suspect;
  }

  /** With a message that was dead the turn went that its burial had left. */
  #drop({ channel, conversation }: OwnedLane): void {
    const { rows, history } = this.#parts;
    rows.outdate(channel, conversation);
    history.drop({ channel, conversation });
  }

  #enterReplies(known: Lane, outbox: Rows, progressOf: Map<string, MessageProgress>): void {
    const { rows, now, sooner } = this.#parts;
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

function placed({ lane, isWhole }: Asked, place: number): object {
  const { channel, conversation, tail } = lane;
  return { place, channel, conversation: toText(conversation), after: isWhole ? 0 : tail };
}

/** What came to this instance need not be read again. */
function textOf(lane: OwnedLane, id: string): Message | null {
  return lane.arrived.find(({ arrival }) => arrival.message.id === id)?.arrival.message ?? null;
}
