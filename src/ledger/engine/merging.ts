/**
 * Merges messages that belong together: the pictures of an album, and texts that a person sends in
 * quick succession. Each stays a row of its own. The engine finds what belongs together when it
 * hands out the first, so a restart merges the same messages again.
 */
import {
  apartMs,
  mediaOf,
  type Gather,
  type Message,
  type PlatformTime,
} from '../../domain/message.ts';
import type { Clock } from '../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../lib/deadlines.ts';
import {
  isSuspect,
  noneMerged,
  type InRow,
  type ConversationQueue,
  type WholeInRow,
} from './queue.ts';

/** At most this many messages are merged, the first included. */
const mergedMax = 10;
/** The longest time from the first merged message to the last. */
const mergeMsMax = 10_000;
/**
 * The longest merged text. The message that would exceed it is a turn of its own. A single message
 * may be longer.
 */
const charactersMax = 16_000;

/** @property deadlines timers by `steady`; left out: new ones are made */
export type MergeClock = Clock & { readonly deadlines?: Deadlines };

/** First messages of idle queues that wait for messages to merge with. */
export class MergeWaits {
  readonly #now: () => number;
  readonly #deadlines: Deadlines;
  readonly #waitOver: (head: InRow) => void;

  /** @param over called with each message whose wait is over */
  constructor(clock: MergeClock, over: (head: InRow) => void) {
    this.#now = clock.now;
    this.#deadlines = clock.deadlines ?? createDeadlines(clock.steady);
    this.#waitOver = over;
  }

  /**
   * Starts or restarts the wait of a message, by what its queue holds now. @returns false: it need
   * not wait
   */
  start(head: InRow): boolean {
    const { queue } = head;
    this.stop(queue);
    const ms = waitMs(head, this.#now());
    if (ms <= 0) return false;
    queue.mergeWait = this.#deadlines.after(ms, () => {
      queue.mergeWait = null;
      this.#waitOver(head);
    });
    return true;
  }

  stop(queue: ConversationQueue): void {
    queue.mergeWait?.cancel();
    queue.mergeWait = null;
  }
}

/** The messages behind this one that are merged with it, as far as their text is in memory. */
export function mergeableBehind(head: InRow): readonly WholeInRow[] {
  if (!isWholeIn(head) || head.message.gather === undefined || isSuspect(head)) return noneMerged;
  const { message } = head;
  const merged: WholeInRow[] = [];
  let characters = message.text.length;
  let before = head;
  for (const row of candidates(head)) {
    if (!isWholeIn(row) || !belongsWith(message, row.message) || !isCloseInTime(head, before, row))
      break;
    characters += 1 + row.message.text.length;
    if (characters > charactersMax) break;
    merged.push(row);
    before = row;
  }
  return merged.length === 0 ? noneMerged : merged;
}

/** The messages that may be merged with this one, but whose text has to be read first. */
export function unreadBehind(head: InRow): readonly InRow[] {
  const { message } = head;
  if (message?.gather === undefined || isSuspect(head)) return noneMerged;
  return [...candidates(head)].filter(({ message: text }) => text === null);
}

/**
 * The merged message. It has the id of the first, and the first quotation among them. The reply to
 * an album points at its first message, and the reply to a burst at the last. All are from one
 * sender and of one origin, so no words are attributed to another person.
 */
export function mergedMessage({ message: first, merged }: WholeInRow): Message {
  if (merged.length === 0) return first;
  const all = [first, ...merged.map(({ message }) => message)];
  const { gather, context: _, further: __, ...whole } = first;
  const texts = all.map(({ text }) => text).filter((text) => text !== '');
  const [media = null, ...further] = all.flatMap(mediaOf);
  const context = all.find((one) => one.context?.quoted !== undefined)?.context ?? first.context;
  return {
    ...whole,
    text: texts.join('\n'),
    media,
    ...(further.length > 0 && { further }),
    ...(context !== undefined && { context }),
    address: gather?.kind === 'burst' ? all.at(-1)!.address : first.address,
  };
}

/**
 * How many milliseconds to wait for more; 0: no wait. Setting the clock back makes the wait no
 * longer.
 */
function waitMs(head: InRow, now: number): number {
  const gather = head.message?.gather;
  if (gather === undefined || isSuspect(head)) return 0;
  const merged = mergeableBehind(head);
  const isOver = head.queue.inbox.length > 1 + merged.length || merged.length + 1 >= mergedMax;
  if (isOver) return 0;
  const last = merged.at(-1) ?? head;
  const overAt = Math.min(last.head.acceptedAt + gather.ms, head.head.acceptedAt + mergeMsMax);
  return Math.min(overAt - now, gather.ms);
}

/** The rows behind that are of the same sender. This is known even for rows without text. */
function* candidates(head: InRow): Generator<InRow> {
  const { inbox } = head.queue;
  for (let at = 1; at < mergedMax; at++) {
    const row = inbox.at(at);
    if (row === undefined || isSuspect(row) || row.taken) return;
    if (row.progress.sender !== head.progress.sender) return;
    yield row;
  }
}

/** Messages of an album belong together whatever time lies between them. */
function isCloseInTime(first: WholeInRow, before: WholeInRow, row: WholeInRow): boolean {
  const { gather } = first.message;
  if (gather?.kind !== 'burst') return true;
  return distanceMs(before, row) <= gather.ms && distanceMs(first, row) <= mergeMsMax;
}

/**
 * The time between two messages. It goes by the platform's clock if both have its time: after an
 * outage, svc receives old messages all at once.
 */
function distanceMs(one: WholeInRow, other: WholeInRow): number {
  const [before, after] = [saidAtOf(one.message), saidAtOf(other.message)];
  if (before !== undefined && after !== undefined) return apartMs(before, after);
  return other.head.acceptedAt - one.head.acceptedAt;
}

function saidAtOf({ gather }: Message): PlatformTime | undefined {
  return gather?.kind === 'burst' ? gather.saidAt : undefined;
}

function belongsWith(first: Message, { gather, sender, sensitivity, context }: Message): boolean {
  if (first.gather === undefined || gather === undefined) return false;
  return (
    sender.id === first.sender.id &&
    sensitivity === first.sensitivity &&
    context?.forwardedFrom === first.context?.forwardedFrom &&
    mergeKeyOf(gather) === mergeKeyOf(first.gather)
  );
}

function mergeKeyOf(gather: Gather): string {
  return gather.kind === 'album' ? `album ${gather.key}` : gather.kind;
}

function isWholeIn(row: InRow): row is WholeInRow {
  return row.message !== null;
}
