/**
 * The messages of a view, newest first. Pages of the API fill the list, and events update it. An
 * event wins over an answer that was requested before it.
 */
import type { Dropped, LiveEvent } from '../../../src/domain/live-event.ts';
import {
  isInState,
  isOnChannel,
  type MessageFilter,
  type MessageRow,
} from '../../../src/domain/records.ts';

type PageEvent = LiveEvent | Dropped;

/** Beyond this number, the oldest messages are removed. */
export const messagesKept = 10_000;
/** The most messages outside the list for which it remembers the time of an event. */
const eventTimesMax = 1_000;

export class MessageList {
  readonly #rows = new Map<string, MessageRow>();
  readonly #movedAt = new Map<string, number>();
  /** Times of events about messages that are not in the list, or were not at that time. */
  readonly #eventAt = new Map<string, number>();
  readonly #clock: () => number;
  #ids: string[] = [];
  #isSorted = true;
  /** True: older messages were removed, and the list cannot get them back. */
  isFull = false;

  /** @param clock milliseconds of any monotonic clock */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get(id: string): MessageRow | undefined {
    return this.#rows.get(id);
  }

  /** Empties the list when events may have been missed. */
  clear(): void {
    this.#rows.clear();
    this.#movedAt.clear();
    this.#ids = [];
    this.isFull = false;
  }

  /**
   * @param askedAt time of the request, on the list's clock
   * @returns whether to read again: an event named a message that was not here, and the answer may
   *   be older than the event
   */
  addPage(rows: readonly MessageRow[], askedAt: number): boolean {
    let isOld = false;
    for (const row of rows) {
      isOld ||= !this.#rows.has(row.id) && (this.#eventAt.get(row.id) ?? -Infinity) >= askedAt;
      if ((this.#movedAt.get(row.id) ?? -Infinity) < askedAt) this.#put(row);
    }
    return isOld;
  }

  /**
   * Adds the newest messages that match. A message of the list that is missing among them no longer
   * matches.
   */
  addNewest(
    rows: readonly MessageRow[],
    askedAt: number,
    filter: MessageFilter,
    reachesEnd: boolean,
  ): boolean {
    const newestIds = new Set(rows.map(({ id }) => id));
    const oldest = rows.at(-1)?.id;
    for (const [id, row] of this.#rows) {
      const isWithin = reachesEnd || (oldest !== undefined && id > oldest);
      if (!isWithin || newestIds.has(id) || !matches(row, filter)) continue;
      if ((this.#movedAt.get(id) ?? -Infinity) >= askedAt) continue;
      this.#rows.delete(id);
      this.#ids = this.#ids.filter((one) => one !== id);
    }
    return this.addPage(rows, askedAt);
  }

  /** @returns whether the list changed */
  apply(liveEvent: PageEvent): boolean {
    const moved = movedBy(liveEvent, (id) => this.#rows.get(id));
    if (moved === null) {
      this.#noteUnknown(liveEvent);
      return false;
    }
    this.#put(moved);
    this.#movedAt.set(moved.id, this.#clock());
    return true;
  }

  /** The messages that match, newest first. */
  matching(filter: MessageFilter): readonly MessageRow[] {
    this.#order();
    const found: MessageRow[] = [];
    for (const id of this.#ids) {
      const row = this.#rows.get(id)!;
      if (matches(row, filter)) found.push(row);
    }
    return found;
  }

  #noteUnknown(liveEvent: PageEvent): void {
    const id = 'message' in liveEvent ? liveEvent.message : 'id' in liveEvent ? liveEvent.id : null;
    if (id === null || this.#rows.has(id)) return;
    this.#eventAt.delete(id);
    this.#eventAt.set(id, this.#clock());
    const [first] = this.#eventAt.keys();
    if (this.#eventAt.size > eventTimesMax) this.#eventAt.delete(first!);
  }

  #put(row: MessageRow): void {
    if (!this.#rows.has(row.id)) {
      this.#isSorted &&= this.#ids.length === 0 || row.id < this.#ids.at(-1)!;
      this.#ids.push(row.id);
    }
    this.#rows.set(row.id, row);
  }

  /** An id begins with its time, so ids sort in the order of acceptance. */
  #order(): void {
    if (!this.#isSorted) this.#ids.sort((a, b) => (a < b ? 1 : -1));
    this.#isSorted = true;
    if (this.#ids.length <= messagesKept) return;
    this.isFull = true;
    for (const id of this.#ids.splice(messagesKept)) {
      this.#rows.delete(id);
      this.#movedAt.delete(id);
    }
  }
}

function movedBy(
  liveEvent: PageEvent,
  known: (id: string) => MessageRow | undefined,
): MessageRow | null {
  switch (liveEvent.kind) {
    case 'message_accepted':
      return liveEvent.duplicate || known(liveEvent.id) !== undefined ? null : accepted(liveEvent);
    case 'turn_started': {
      const row = known(liveEvent.id);
      return row === undefined ? null : { ...row, brain: liveEvent.brain };
    }
    case 'turn_finished': {
      const { outcome, model } = liveEvent;
      return answered(known(liveEvent.id), {
        brain: liveEvent.brain,
        outcome,
        model,
        at: liveEvent.at,
      });
    }
    case 'command_answered': {
      const { brain, at } = liveEvent;
      return answered(known(liveEvent.id), { brain, outcome: 'command', model: null, at });
    }
    case 'reply_delivered':
      return settled(known(liveEvent.message), 'delivered', liveEvent.totalMs);
    case 'delivery_failed':
      return liveEvent.nextAt === null ? settled(known(liveEvent.message), 'dead', null) : null;
    case 'dead_letter': {
      const row = known(liveEvent.id);
      return row === undefined ? null : { ...row, state: 'dead', settledAt: liveEvent.at };
    }
    case 'channel_changed':
    case 'dropped':
    case 'message_refused':
    case 'message_turned_away':
    case 'model_answered':
    case 'operator_wrote':
    case 'plan_used':
    case 'tool_used':
    case 'warned':
      return null;
    default:
      return liveEvent satisfies never;
  }
}

function accepted({ id, channel, at }: Extract<PageEvent, { kind: 'message_accepted' }>) {
  return {
    id,
    channel,
    acceptedAt: at,
    state: 'waiting',
    settledAt: null,
    brain: null,
    outcome: null,
    model: null,
    totalMs: null,
    replies: { waiting: 0, delivered: 0, dead: 0 },
  } as const satisfies MessageRow;
}

type Answer = Pick<MessageRow, 'brain' | 'outcome' | 'model'> & { readonly at: number };

/** From then on the reply is on its way; only the API knows the number of its parts. */
function answered(row: MessageRow | undefined, answer: Answer): MessageRow | null {
  if (row === undefined) return null;
  const { at, ...turn } = answer;
  const { waiting, delivered, dead } = row.replies;
  const replies = { waiting: Math.max(waiting, delivered + dead === 0 ? 1 : 0), delivered, dead };
  return { ...row, ...turn, state: 'answered', settledAt: at, replies };
}

function settled(
  row: MessageRow | undefined,
  how: 'delivered' | 'dead',
  totalMs: number | null,
): MessageRow | null {
  if (row === undefined) return null;
  const waiting = Math.max(0, row.replies.waiting - 1);
  const replies = { ...row.replies, waiting, [how]: row.replies[how] + 1 };
  return { ...row, replies, totalMs: waiting === 0 ? (totalMs ?? row.totalMs) : null };
}

function matches(row: MessageRow, filter: MessageFilter): boolean {
  const { channel, brain, state, outcome, since, until } = filter;
  return (
    isOnChannel(row.channel, channel) &&
    (brain === null || row.brain === brain) &&
    isInState(row.state, row.outcome, state) &&
    (outcome === null || row.outcome === outcome) &&
    (since === null || row.acceptedAt >= since) &&
    (until === null || row.acceptedAt < until)
  );
}
