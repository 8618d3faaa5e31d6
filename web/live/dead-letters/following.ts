/**
 * Follows replayed dead letters until each has a final result. It first reads the letters that an
 * event named. Of the others, possibly many, it reads some each second, in turn.
 */
import type { Story } from '../../../src/domain/story.ts';
import type { PageEvent } from '../feed.ts';
import { fateIn, type Fate, type Mover } from './fates.ts';

/** The most letters that one round reads; then there is a pause. */
const askedAtOnce = 20;
const restMs = { told: 100, idle: 1_000 } as const;

type Options = {
  /** @returns null: the service no longer has it; undefined: it could not be read now */
  readonly read: (message: string) => Promise<Story | null | undefined>;
  readonly onChange: (fates: readonly Fate[]) => void;
};

export class Following implements Disposable {
  readonly #options: Options;
  readonly #letters = new Map<string, Mover>();
  readonly #fates = new Map<string, Fate>();
  /** Letters without a final result; the one that was read last is at the end. */
  readonly #open = new Set<string>();
  /** Letters that an event named. */
  readonly #named = new Set<string>();
  /** Ids of letters, by their own id and by the id of their message. */
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
    const named = idNamedBy(liveEvent);
    if (named === null) return;
    for (const id of this.#byId.get(named) ?? []) if (this.#open.has(id)) this.#named.add(id);
    if (this.#named.size > 0) this.#ask('told');
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #ask(why: keyof typeof restMs): void {
    if (this.#isAsking || this.#isOver || this.#open.size === 0) return;
    // A later event does not delay a read that is due soon.
    if (this.#timer !== null && this.#isSoon) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#isSoon = why === 'told';
    this.#timer = setTimeout(() => void this.#askSome(), restMs[why]);
  }

  async #askSome(): Promise<void> {
    this.#isAsking = true;
    this.#timer = null;
    const ids = [...new Set([...this.#named, ...this.#open])].slice(0, askedAtOnce);
    for (const id of ids) this.#named.delete(id);
    await Promise.all(ids.map((id) => this.#askFor(id)));
    this.#isAsking = false;
    if (this.#isOver) return;
    this.#options.onChange([...this.#fates.values()]);
    this.#ask(this.#named.size > 0 ? 'told' : 'idle');
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

/** The length of an id. The id of a part of a reply continues after it. */
const idLength = 22;

/** The id of the message or letter whose result the event may have changed. */
function idNamedBy(liveEvent: PageEvent): string | null {
  const { kind } = liveEvent;
  if (kind === 'turn_finished' || kind === 'command_answered') return liveEvent.id;
  if (kind === 'reply_delivered' || kind === 'delivery_failed') return liveEvent.message;
  return kind === 'dead_letter' ? liveEvent.id.slice(0, idLength) : null;
}
