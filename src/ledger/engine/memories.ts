/**
 * What conversations at work remember, kept in memory so that a turn need not ask the storage: the
 * newest turns of the active session. It is bounded; what is not here is read.
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
import { Cache } from '../../lib/cache.ts';
import type { Memory } from '../ledger.ts';

const bytesMax = 64 * 1024 * 1024;
const entryBytes = 256;

export type Where = Pick<Message, 'channel' | 'conversation'>;

type Kept = { readonly memory: Memory; epoch: number };

export class Memories {
  #memories = new Cache<string, Kept>(bytesMax);
  /** The widest of all brains. */
  #bounds = historyBounds;

  get bounds(): HistoryBounds {
    return this.#bounds;
  }

  /** @returns whether what is kept may be too little, and went */
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

  get(where: Where): Memory | undefined {
    return this.#memories.get(keyOf(where))?.memory;
  }

  /**
   * To be called after the commit of a turn.
   * @param memory what the next turn will see
   * @param epoch where others may work the conversation in between: how often it was taken
   */
  put(where: Where, memory: Memory, epoch = 0): void {
    const key = keyOf(where);
    this.#memories.put(key, { memory, epoch }, bytesOf(memory, key));
  }

  /** The conversation was taken for the so many-th time: what is older than the last time goes. */
  taken(where: Where, epoch: number): void {
    const kept = this.#memories.get(keyOf(where));
    if (kept === undefined) return;
    if (kept.epoch >= epoch - 1) kept.epoch = epoch;
    else this.drop(where);
  }

  /** What is stored of the conversation has changed. */
  drop(where: Where): void {
    this.#memories.delete(keyOf(where));
  }

  dropAll(): void {
    this.#memories = new Cache(bytesMax);
  }
}

/** A conversation's own row; there is one once something besides turns is to be kept. */
export type ConversationRecord = {
  readonly session: number;
  readonly startedAt: number;
  readonly previousAt: number;
  /** As `windowsText` writes them; null: none. */
  readonly windows: string | null;
};

/** Channel keys hold no space, so no two conversations share a key. */
export function keyOf({ channel, conversation }: Where): string {
  return `${channel} ${conversation}`;
}

/** The active session of a conversation; the first has no row of its own. */
export function activeSession(row: ConversationRecord | undefined): number {
  return row?.session ?? 1;
}

/**
 * What a message's turn sees.
 * @param turns the newest of the active session, oldest first: one more than `bounds` says, or all
 * @param bounds the widest of all brains
 * @param firstAt when its first turn was; asked only where it counts
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
  /** Brain, and its start's `after` and `at`. */
  readonly starts: readonly (readonly [string, number, number])[];
};

/** For a conversation's row; null: every window begins with the session. */
export function windowsText({ session, windows }: Pick<Memory, 'session' | 'windows'>) {
  if (windows.size === 0) return null;
  const starts = Array.from(windows, ([brain, { after, at }]) => [brain, after, at] as const);
  return JSON.stringify({ session: session.number, starts } satisfies StoredWindows);
}

/** A release that does not know windows leaves those of an earlier session. */
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
