/**
 * Albums in groups. Only the part with the caption names the bot. The other parts name nobody, and
 * may arrive with a later answer.
 */
import type { Setting } from '../../domain/message.ts';
import { albumMs, type Update } from './wire.ts';

/**
 * How soon svc asks for the rest of an album or of merged messages. Telegram answers an offset that
 * is repeated within half a second with a single update.
 */
export const mergingPauseMs = 600;

/** @param gatherMs the channel's setting; 0: only albums are merged */
export function mayBePart({ message, press }: Update, gatherMs: number): boolean {
  if (message === null || press !== undefined) return false;
  return gatherMs > 0 || message.gather !== undefined;
}

/**
 * When Telegram may forget a part that was taken in a group: not before its album is complete. A
 * process that starts in the middle learns from that part alone for whom the others are.
 */
export function safeOf({ message }: Update, safe: Promise<void>): Promise<void> {
  if (albumOf(message) === null) return safe;
  const whole = new Promise<void>((resolve) => void setTimeout(resolve, albumMs).unref());
  return whole.then(() => safe);
}

/** How many albums for this bot are remembered. */
const albumsMax = 100;

export class Albums {
  readonly #settings = new Map<string, Setting>();

  /** Gives every part of an album the setting of the part with the caption. */
  settle(updates: readonly Update[]): readonly Update[] {
    for (const update of updates) this.#note(update);
    return this.#settings.size === 0
      ? updates
      : updates.map((update) => this.#withCaptionSetting(update));
  }

  #note({ message }: Update): void {
    const key = albumOf(message);
    if (key === null || message === null || message.setting === 'overheard') return;
    this.#settings.set(key, message.setting);
    const [oldest] = this.#settings.keys();
    if (this.#settings.size > albumsMax) this.#settings.delete(oldest!);
  }

  #withCaptionSetting(update: Update): Update {
    const { message } = update;
    const key = albumOf(message);
    const setting = key === null ? undefined : this.#settings.get(key);
    if (message === null || setting === undefined) return update;
    return { ...update, message: { ...message, setting } };
  }
}

/** An album in a private chat needs no key: every message there is for the bot. */
function albumOf(message: Update['message']): string | null {
  if (message?.gather?.kind !== 'album' || message.setting === 'direct') return null;
  return `${message.conversation} ${message.sender.id} ${message.gather.key}`;
}
