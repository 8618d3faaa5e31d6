/**
 * What conversations at work remember, kept in memory so that a turn need not ask the storage: the
 * active session's window of turns. It is bounded; what is not here is read.
 */
import { fitWindow, type TurnRow } from '../../domain/conversation.ts';
import type { Message } from '../../domain/message.ts';
import { Cache } from '../../lib/cache.ts';
import type { Memory } from '../store.ts';

const bytesMax = 64 * 1024 * 1024;
const entryBytes = 256;

export type Where = Pick<Message, 'channel' | 'conversation'>;

export class Memories {
  readonly #memories = new Cache<string, Memory>(bytesMax);

  get bytes(): number {
    return this.#memories.weight;
  }

  get(where: Where): Memory | undefined {
    return this.#memories.get(keyOf(where));
  }

  /** To be called after the commit of a turn. @param memory what the next turn will see */
  put(where: Where, memory: Memory): void {
    const key = keyOf(where);
    this.#memories.put(key, memory, bytesOf(memory, key));
  }

  /** What is stored of the conversation has changed. */
  drop(where: Where): void {
    this.#memories.delete(keyOf(where));
  }
}

/** A conversation's own row; there is one once something besides turns is to be kept. */
export type ConversationRecord = {
  readonly session: number;
  readonly startedAt: number;
  readonly previousAt: number;
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
 * @param turns the newest of the active session, oldest first
 * @param firstAt when its first turn was; asked only where it counts
 */
export function memoryOf(
  { acceptedAt }: Pick<Message, 'acceptedAt'>,
  row: ConversationRecord | undefined,
  turns: readonly TurnRow[],
  firstAt: () => number,
): Memory {
  const number = activeSession(row);
  const lastAt = turns.at(-1)?.at ?? null;
  const seen = { turns: fitWindow(turns), empty: turns.length === 0 };
  if (row !== undefined) {
    const previousAt = Math.max(row.previousAt, lastAt ?? 0);
    return { session: { number, startedAt: row.startedAt }, ...seen, previousAt };
  }
  const startedAt = lastAt === null ? acceptedAt : firstAt();
  return { session: { number, startedAt }, ...seen, previousAt: lastAt };
}

function bytesOf({ turns }: Memory, key: string): number {
  let characters = key.length;
  for (const { text, reply } of turns) characters += text.length + (reply?.length ?? 0);
  return entryBytes * (turns.length + 1) + 2 * characters;
}
