/**
 * The memory of active conversations: the newest turns of their sessions. It saves a turn a read of
 * the storage. It is bounded; what is missing is read.
 */
import {
  historyBounds,
  newestTurns,
  noStarts,
  type HistoryBounds,
  type TurnRow,
  type WindowStarts,
} from '../../domain/conversation.ts';
import type { Message } from '../../domain/message.ts';
import type { ConversationKey } from '../../domain/story.ts';
import { Cache, setNewest } from '../../lib/cache.ts';
import type { Memory, Effects } from '../ledger.ts';
import type { TurnEnd } from './storage.ts';

const bytesMax = 64 * 1024 * 1024;
const entryBytes = 256;

type CachedMemory = { readonly memory: Memory; epoch: number };

export class Memories {
  #memories = new Cache<string, CachedMemory>(bytesMax);
  /** The widest history bounds of all brains. */
  #bounds = historyBounds;

  get bounds(): HistoryBounds {
    return this.#bounds;
  }

  /** @returns true: the bounds grew, so the kept memories may be too short and were dropped */
  remember(bounds: HistoryBounds): boolean {
    const before = this.#bounds;
    this.#bounds = bounds;
    const isWider = bounds.turns > before.turns || bounds.characters > before.characters;
    if (isWider) this.dropAll();
    return isWider;
  }

  get bytes(): number {
    return this.#memories.weight;
  }

  get(where: ConversationKey): Memory | undefined {
    return this.#memories.get(keyOf(where))?.memory;
  }

  /**
   * Call after the commit of a turn.
   * @param memory what the next turn will see
   * @param epoch how often the conversation was taken, where other processes may work it in between
   */
  put(where: ConversationKey, memory: Memory, epoch = 0): void {
    const key = keyOf(where);
    this.#memories.put(key, { memory, epoch }, bytesOf(memory, key));
  }

  /**
   * The conversation was taken by this process for the `epoch`-th time. A memory older than the
   * previous time is dropped.
   */
  taken(where: ConversationKey, epoch: number): void {
    const kept = this.#memories.get(keyOf(where));
    if (kept === undefined) return;
    if (kept.epoch >= epoch - 1) kept.epoch = epoch;
    else this.drop(where);
  }

  /** Call when the stored conversation has changed. */
  drop(where: ConversationKey): void {
    this.#memories.delete(keyOf(where));
  }

  dropAll(): void {
    this.#memories = new Cache(bytesMax);
  }
}

/** The row of a conversation. It exists once something besides turns is kept. */
export type ConversationRecord = {
  readonly session: number;
  readonly startedAt: number;
  readonly previousAt: number;
  /** As `windowsText` writes them; null: none. */
  readonly windows: string | null;
};

/** Channel keys hold no space, so no two conversations share a key. */
export function keyOf({ channel, conversation }: ConversationKey): string {
  return `${channel} ${conversation}`;
}

/** The number of the active session. The first session has no row. */
export function activeSession(row: ConversationRecord | undefined): number {
  return row?.session ?? 1;
}

/**
 * The memory that the turn of a message sees.
 * @param turns the newest turns of the active session, oldest first: one more than `bounds` allows,
 *   or all
 * @param bounds the widest of all brains
 * @param firstAt reads when the first turn was; called only if needed
 */
export function memoryOf(
  { acceptedAt }: Pick<Message, 'acceptedAt'>,
  row: ConversationRecord | undefined,
  turns: readonly TurnRow[],
  bounds: HistoryBounds,
  firstAt: () => number,
): Memory {
  const number = activeSession(row);
  const lastAt = turns.at(-1)?.at ?? null;
  const windows = windowsIn(row?.windows ?? null, number);
  const seen = { turns: newestTurns(turns, bounds), windows, empty: turns.length === 0 };
  if (row !== undefined) {
    const previousAt = Math.max(row.previousAt, lastAt ?? 0);
    return { session: { number, startedAt: row.startedAt }, ...seen, previousAt };
  }
  const startedAt = lastAt === null ? acceptedAt : firstAt();
  return { session: { number, startedAt }, ...seen, previousAt: lastAt };
}

type StoredWindows = {
  readonly session: number;
  /** Brain, and `after` and `at` of its window start. */
  readonly starts: readonly (readonly [string, number, number])[];
};

/** The windows as JSON for the conversation's row; null: every window begins with the session. */
export function windowsText({ session, windows }: Pick<Memory, 'session' | 'windows'>) {
  if (windows.size === 0) return null;
  const starts = Array.from(windows, ([brain, { after, at }]) => [brain, after, at] as const);
  return JSON.stringify({ session: session.number, starts } satisfies StoredWindows);
}

/**
 * Windows of an earlier session do not count: an older release, which knows no windows, leaves them
 * there.
 */
function windowsIn(text: string | null, session: number): WindowStarts {
  if (text === null) return noStarts;
  const stored = JSON.parse(text) as StoredWindows;
  if (stored.session !== session) return noStarts;
  return new Map(stored.starts.map(([brain, after, at]) => [brain, { after, at }]));
}

function bytesOf({ turns }: Memory, key: string): number {
  let characters = key.length;
  for (const { text, reply } of turns) characters += text.length + (reply?.length ?? 0);
  return entryBytes * (turns.length + 1) + 2 * characters;
}

// The memory of a conversation after a turn.

/**
 * The windows of at most this many brains are kept for a session. Beyond it, the window that was
 * cut first is dropped.
 */
const windowsMax = 16;

/**
 * The memory that the next turn of the conversation sees.
 * @param bounds the widest of all brains
 */
export function memoryAfter(
  { acceptedAt }: Message,
  before: Memory,
  effects: Effects | null,
  bounds: HistoryBounds,
): Memory {
  const move = effects?.session ?? null;
  const turn = effects?.turn ?? null;
  const turns = move === null ? withoutTurns(before.turns, effects?.leftOut ?? []) : [];
  const imported = effects?.imported ?? null;
  const added: TurnRow[] =
    imported === null ? [] : [{ at: acceptedAt, ...imported, reply: null, quoted: true }];
  if (turn !== null) added.push(turn);
  const { number } = before.session;
  return {
    session: move === null ? before.session : { number: number + 1, startedAt: move.at },
    turns: added.length === 0 ? turns : newestTurns([...turns, ...added], bounds),
    windows: move === null ? windowsAfter(before.windows, effects) : noStarts,
    previousAt: Math.max(before.previousAt ?? acceptedAt, acceptedAt),
    empty: added.length === 0 && (move !== null || before.empty),
  };
}

/** Whether `memoryAfter` gives the memory that the storage would read, and a turn may need it. */
export function isKnownAfter({ row, effects }: TurnEnd): boolean {
  if (effects?.isOnly === true) return false;
  const isOutdated = row.historyVersion < row.queue.historyVersion;
  // Older turns take the places of those left out.
  const isOther = effects !== null && effects.leftOut.length + effects.doubted.length > 0;
  return !row.gone && !isOutdated && !isOther;
}

function windowsAfter(before: WindowStarts, effects: Effects | null): WindowStarts {
  const cut = effects?.window;
  if (cut === undefined) return before;
  const windows = new Map(before);
  setNewest(windows, cut.brain, cut.start, windowsMax);
  return windows;
}

function withoutTurns(turns: readonly TurnRow[], leftOut: readonly TurnRow[]): readonly TurnRow[] {
  return leftOut.length === 0 ? turns : turns.filter((turn) => !leftOut.includes(turn));
}
