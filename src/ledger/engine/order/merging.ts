/**
 * Messages that are one: the pieces of an album, and what a person says in quick succession. Each
 * is a row of its own, and what belongs together is found when the first of them is handed out: so
 * a start joins them again as before.
 */
import { apartMs, mediaOf, type Gather, type Message } from '../../../domain/message.ts';
import type { PlatformTime } from '../../../domain/message.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../../lib/deadlines.ts';
import { isSuspect } from './crash-isolation.ts';
import { noneJoined, type InRow, type ConversationQueue, type WholeInRow } from './rows.ts';

/** So many are joined at most, the first included. */
const piecesMax = 10;
/** All together, from the first to the last. */
const gatheringMsMax = 10_000;
/** What comes beyond this is a turn of its own; a message that is longer by itself stands alone. */
const charactersMax = 16_000;

/** @property deadlines by that clock; left out: of its own */
export type GatheringClock = Clock & { readonly deadlines?: Deadlines };

/** Heads of idle lanes that wait for what may be one message with them. */
export class Gathering {
  readonly #now: () => number;
  readonly #deadlines: Deadlines;
  readonly #over: (head: InRow) => void;

  /** @param over is told of each head that waits no more */
  constructor(clock: GatheringClock, over: (head: InRow) => void) {
    this.#now = clock.now;
    this.#deadlines = clock.deadlines ?? createDeadlines(clock.steady);
    this.#over = over;
  }

  /** Whether it waits from now on; asked again it waits for what belongs to it by then. */
  waits(head: InRow): boolean {
    const { queue } = head;
    this.stop(queue);
    const ms = leftMs(head, this.#now());
    if (ms <= 0) return false;
    queue.gathering = this.#deadlines.after(ms, () => {
      queue.gathering = null;
      this.#over(head);
    });
    return true;
  }

  stop(queue: ConversationQueue): void {
    queue.gathering?.cancel();
    queue.gathering = null;
  }
}

/** What lies behind a row in its lane that is one message with it, as far as its text is here. */
export function piecesOf(head: InRow): readonly WholeInRow[] {
  if (!isWholeIn(head) || head.message.gather === undefined || isSuspect(head)) return noneJoined;
  const { message } = head;
  const pieces: WholeInRow[] = [];
  let characters = message.text.length;
  let before = head;
  for (const row of candidates(head)) {
    if (!isWholeIn(row) || !isOneWith(message, row.message) || !isSoon(head, before, row)) break;
    characters += 1 + row.message.text.length;
    if (characters > charactersMax) break;
    pieces.push(row);
    before = row;
  }
  return pieces.length === 0 ? noneJoined : pieces;
}

/** Rows that may be one with it and have to be read before that is known. */
export function unreadBehind(head: InRow): readonly InRow[] {
  const { message } = head;
  if (message?.gather === undefined || isSuspect(head)) return noneJoined;
  return [...candidates(head)].filter(({ message: text }) => text === null);
}

/**
 * What the person said, all told. It bears the id of the first. The reply to an album points at its
 * first piece, that to a burst at what was said last. All came from the same, so that nobody's
 * words are told as another's; of what they reply to the first counts.
 */
export function joinedMessage({ message: first, joined }: WholeInRow): Message {
  if (joined.length === 0) return first;
  const all = [first, ...joined.map(({ message }) => message)];
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

/** Milliseconds for which more may come; a clock that is set back makes it wait no longer. */
function leftMs(head: InRow, now: number): number {
  const gather = head.message?.gather;
  if (gather === undefined || isSuspect(head)) return 0;
  const pieces = piecesOf(head);
  const isOver = head.queue.inbox.length > 1 + pieces.length || pieces.length + 1 >= piecesMax;
  if (isOver) return 0;
  const last = pieces.at(-1) ?? head;
  const overAt = Math.min(last.head.acceptedAt + gather.ms, head.head.acceptedAt + gatheringMsMax);
  return Math.min(overAt - now, gather.ms);
}

/** By what is known of every row: who said it. */
function* candidates(head: InRow): Generator<InRow> {
  const { inbox } = head.queue;
  for (let at = 1; at < piecesMax; at++) {
    const row = inbox.at(at);
    if (row === undefined || isSuspect(row) || row.taken) return;
    if (row.progress.sender !== head.progress.sender) return;
    yield row;
  }
}

/** The pieces of an album are one however far apart they come. */
function isSoon(first: WholeInRow, before: WholeInRow, row: WholeInRow): boolean {
  const { gather } = first.message;
  if (gather?.kind !== 'burst') return true;
  return leastApartMs(before, row) <= gather.ms && leastApartMs(first, row) <= gatheringMsMax;
}

/** By this machine's clock what is fetched after an outage would have been said at once. */
function leastApartMs(one: WholeInRow, other: WholeInRow): number {
  const [before, after] = [saidAtOf(one.message), saidAtOf(other.message)];
  if (before !== undefined && after !== undefined) return apartMs(before, after);
  return other.head.acceptedAt - one.head.acceptedAt;
}

function saidAtOf({ gather }: Message): PlatformTime | undefined {
  return gather?.kind === 'burst' ? gather.saidAt : undefined;
}

function isOneWith(first: Message, { gather, sender, sensitivity, context }: Message): boolean {
  if (first.gather === undefined || gather === undefined) return false;
  return (
    sender.id === first.sender.id &&
    sensitivity === first.sensitivity &&
    context?.forwardedFrom === first.context?.forwardedFrom &&
    keyOf(gather) === keyOf(first.gather)
  );
}

function keyOf(gather: Gather): string {
  return gather.kind === 'album' ? `album ${gather.key}` : gather.kind;
}

function isWholeIn(row: InRow): row is WholeInRow {
  return row.message !== null;
}
