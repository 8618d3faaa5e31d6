/**
 * Albums in groups. Only the piece that has the caption tells for whom its album is; the others say
 * nothing, and may come with a later answer.
 */
import type { Setting } from '../../domain/message.ts';
import { albumMs, type Update } from './wire.ts';

/**
 * The rest of what is gathered is asked for so soon. An offset that is repeated within half a
 * second gets one update alone.
 */
export const gatheringPauseMs = 600;

/** @param gatherMs as the channel is configured; 0: albums alone are joined */
export function mayBePiece({ message, press }: Update, gatherMs: number): boolean {
  if (message === null || press !== undefined) return false;
  return gatherMs > 0 || message.gather !== undefined;
}

/**
 * When Telegram may forget a piece that was taken in a group: not before its album is whole, since
 * a process that starts in the midst of it learns from it alone for whom the others are.
 */
export function safeOf({ message }: Update, safe: Promise<void>): Promise<void> {
  if (albumOf(message) === null) return safe;
  const whole = new Promise<void>((resolve) => void setTimeout(resolve, albumMs).unref());
  return whole.then(() => safe);
}

/** Of so many albums it is remembered that they were for this bot. */
const albumsMax = 100;

export class Albums {
  readonly #meant = new Map<string, Setting>();

  /** The updates, with every piece of an album said to whom its caption is said. */
  settle(updates: readonly Update[]): readonly Update[] {
    for (const update of updates) this.#note(update);
    return this.#meant.size === 0 ? updates : updates.map((update) => this.#settled(update));
  }

  #note({ message }: Update): void {
    const key = albumOf(message);
    if (key === null || message === null || message.setting === 'overheard') return;
    this.#meant.set(key, message.setting);
    const [oldest] = this.#meant.keys();
    if (this.#meant.size > albumsMax) this.#meant.delete(oldest!);
  }

  #settled(update: Update): Update {
    const { message } = update;
    const key = albumOf(message);
    const setting = key === null ? undefined : this.#meant.get(key);
    if (message === null || setting === undefined) return update;
    return { ...update, message: { ...message, setting } };
  }
}

/** In a private chat all is said to the bot. */
function albumOf(message: Update['message']): string | null {
  if (message?.gather?.kind !== 'album' || message.setting === 'direct') return null;
  return `${message.conversation} ${message.sender.id} ${message.gather.key}`;
}
