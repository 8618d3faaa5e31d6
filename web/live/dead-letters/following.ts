/**
 * Follows dead letters that were replayed until each has come to an end. What the events tell of is
 * asked for first; of the others, which may be many, some each second, in turn.
 */
import type { Story } from '../../../src/domain/story.ts';
import type { PageEvent } from '../feed.ts';
import { fateIn, type Fate, type Mover } from './fates.ts';

/** At most so many are asked for at a time, and then there is a rest. */
const askedAtOnce = 20;
const restMs = { told: 100, idle: 1_000 } as const;

type Options = {
  /** @returns null: it is not known any more; undefined: it could not be read now */
  readonly read: (message: string) => Promise<Story | null | undefined>;
  readonly onChange: (fates: readonly Fate[]) => void;
};

export class Following implements Disposable {
  readonly #options: Options;
  readonly #letters = new Map<string, Mover>();
  readonly #fates = new Map<string, Fate>();
  /** Those that have not come to an end, the one that was asked for last at the end. */
  readonly #open = new Set<string>();
  /** Those that an event told of. */
  readonly #told = new Set<string>();
  /** Letters by their own ids, and by the ids of their messages. */
  readonly #byId = new Map<string, string[]>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isSoon = false;
  #isAsking = false;
  #isOver = false;

  constructor(options: Options) {
    this.#options = options;
  }

  add(letter: Mover): void {
    this.#letters.set(letter.id, letter);
    this.#fates.set(letter.id, { kind: 'waits', why: null });
    this.#open.add(letter.id);
    for (const id of new Set([letter.id, letter.messageId])) {
      this.#byId.set(id, [...(this.#byId.get(id) ?? []), letter.id]);
    }
    this.#options.onChange([...this.#fates.values()]);
    this.#ask('told');
  }

  hear(liveEvent: PageEvent): void {
    const told = toldBy(liveEvent);
    if (told === null) return;
    for (const id of this.#byId.get(told) ?? []) if (this.#open.has(id)) this.#told.add(id);
    if (this.#told.size > 0) this.#ask('told');
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #ask(why: keyof typeof restMs): void {
    if (this.#isAsking || this.#isOver || this.#open.size === 0) return;
    // What is due soon is not put off by what comes meanwhile.
    if (this.#timer !== null && this.#isSoon) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#isSoon = why === 'told';
    this.#timer = setTimeout(() => void this.#askSome(), restMs[why]);
  }

  async #askSome(): Promise<void> {
    this.#isAsking = true;
    this.#timer = null;
    const ids = [...new Set([...this.#told, ...this.#open])].slice(0, askedAtOnce);
    for (const id of ids) this.#told.delete(id);
    await Promise.all(ids.map((id) => this.#askFor(id)));
    this.#isAsking = false;
    if (this.#isOver) return;
    this.#options.onChange([...this.#fates.values()]);
    this.#ask(this.#told.size > 0 ? 'told' : 'idle');
  }

  async #askFor(id: string): Promise<void> {
    const letter = this.#letters.get(id)!;
    const story = await this.#options.read(letter.messageId);
    this.#open.delete(id);
    const fate = story === undefined ? null : fateIn(story, letter);
    if (fate !== null) this.#fates.set(id, fate);
    if (fate === null || fate.kind === 'waits') this.#open.add(id);
  }
}

/** An id has so many characters; of a part of a reply something follows. */
const idLength = 22;

/** The message or the letter of which it tells something that may have ended it. */
function toldBy(liveEvent: PageEvent): string | null {
  const { kind } = liveEvent;
  if (kind === 'turn_finished' || kind === 'command_answered') return liveEvent.id;
  if (kind === 'reply_delivered' || kind === 'delivery_failed') return liveEvent.message;
  return kind === 'dead_letter' ? liveEvent.id.slice(0, idLength) : null;
}
