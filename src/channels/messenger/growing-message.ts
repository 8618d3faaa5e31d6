/**
 * Shows a reply while the brain writes it: as one message that grows by edits, or as a draft if the
 * platform has drafts. Only the newest text goes out, with at most one call under way, and no
 * oftener than the platform allows. The preview ends after three failures in a row, or at the first
 * rate limit. The reply itself arrives all the same.
 */
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import type { Preview } from '../channel.ts';

/**
 * The result of a call.
 * - `made`: a new message shows the text.
 * - `unseen`: the message may still come to show the text; this is its name from now on.
 * - `busy`: no call was made; one may be made after `ms` milliseconds.
 * - `over`: no further call is possible.
 */
export type Shown =
  | { readonly kind: 'made' | 'unseen'; readonly message: string }
  | { readonly kind: 'busy'; readonly ms: number }
  | { readonly kind: 'shown' | 'failed' | 'over' };

export type GrowingDeps = {
  /** The message to edit; null: there is none yet. */
  readonly message: string | null;
  /** A name for the new message before its id is known; null: the platform has no such name. */
  readonly unseen: string | null;
  /** Called with each name of the message; the newest counts. */
  readonly made: (message: string) => void;
  /** As much of a text as one message holds. A change beyond that causes no edit. */
  readonly cut: (text: string) => string;
  /**
   * Waits until the platform has room for a call that no reply needs.
   * @param isFirst whether the person has seen nothing of the reply yet
   * @returns false: the signal aborted first
   */
  readonly waitForRoom: (signal: AbortSignal, isFirst: boolean) => Promise<boolean>;
  /** Makes the message, or edits it to this text. Never throws. */
  readonly put: (message: string | null, text: string, signal: AbortSignal) => Promise<Shown>;
  /** Deletes a message that was made after the end, so that no reply replaces it. Never throws. */
  readonly remove: (message: string) => void;
  /** The least time between the starts of two calls. It is read again before each call. */
  readonly everyMs: number;
  /**
   * How long after a call the same text is sent again, since the platform drops it; null: it stays.
   */
  readonly repeatMs: number | null;
  readonly steady: () => SteadyTime;
  readonly deadlines: Deadlines;
};

/** A reply that is complete sooner has no preview, unless it had `firstCharacters` before. */
const firstMs = 700;
const firstCharacters = 40;
const failuresMax = 3;
const busyMsMin = 100;
/** The time limit of an edit. */
const editMs = 4_000;
/**
 * How long `end` waits at most. It is longer than `editMs`, since a late edit would overwrite the
 * reply.
 */
const endMs = 4_500;

/** Stands behind a text that is not complete yet. */
export const continuationMark = ' …';

/** A preview that shows nothing. */
export const noPreview: Preview = { show() {}, end: () => Promise.resolve() };

export class GrowingMessage implements Preview {
  readonly #deps: GrowingDeps;
  /** Aborts the wait for room. */
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();
  readonly #begunAt: SteadyTime;
  #message: string | null;
  #text = '';
  #shown = '';
  /** Whether a first call was begun; after it, `everyMs` sets the time of the next one. */
  #hasCalled = false;
  #nextAt: SteadyTime;
  /** When the shown text must be sent again. */
  #repeatAt: SteadyTime | null = null;
  #next: Deadline | null = null;
  #dueAt: SteadyTime;
  #underWay: Promise<void> | null = null;
  #failures = 0;
  #isOver = false;

  constructor(deps: GrowingDeps) {
    this.#deps = deps;
    this.#message = deps.message;
    this.#begunAt = deps.steady();
    this.#nextAt = this.#dueAt = later(this.#begunAt, firstMs);
  }

  show(text: string): void {
    this.#text = text;
    if (!this.#hasCalled && text.length >= firstCharacters) this.#nextAt = this.#begunAt;
    this.#plan();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#stopping.abort();
    this.#next?.cancel();
    this.#next = null;
    if (this.#underWay === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    // After a stall both this deadline and the edit's are over. The edit's outcome must come first.
    const limit = this.#deps.deadlines.after(endMs, () => void setImmediate(resolve));
    await Promise.race([this.#underWay, promise]);
    limit.cancel();
    const { unseen } = this.#deps;
    if (this.#underWay !== null && this.#message === null && unseen !== null) this.#name(unseen);
    this.#ending.abort();
  }

  #fail(): void {
    if (++this.#failures >= failuresMax) this.#isOver = true;
  }

  #name(message: string): void {
    if (message === this.#message) return;
    this.#message = message;
    this.#deps.made(message);
  }

  #plan(): void {
    if (this.#isOver || this.#underWay !== null || this.#text.trim() === '') return;
    this.#planAt(this.#text === this.#shown ? this.#repeatAt : this.#nextAt);
  }

  #planAt(at: SteadyTime | null): void {
    // Only an earlier time replaces a plan: the first piece of a stream plans a late first call.
    if (at === null || (this.#next !== null && this.#dueAt <= at)) return;
    this.#next?.cancel();
    this.#next = null;
    if (at <= this.#deps.steady()) return this.#begin();
    this.#dueAt = at;
    this.#next = this.#deps.deadlines.at(at, () => {
      this.#next = null;
      this.#begin();
    });
  }

  #begin(): void {
    const { cut, steady, everyMs } = this.#deps;
    const now = steady();
    this.#hasCalled = true;
    this.#nextAt = later(now, everyMs);
    const hasFaded = this.#repeatAt !== null && this.#repeatAt <= now;
    if (hasFaded || cut(this.#text) !== this.#shown) this.#underWay = this.#putInTurn();
    else this.#planAt(this.#repeatAt);
  }

  async #putInTurn(): Promise<void> {
    const { waitForRoom, cut, steady, everyMs } = this.#deps;
    const isAdmitted = await waitForRoom(this.#stopping.signal, this.#shown === '');
    if (isAdmitted && !this.#isOver) {
      this.#nextAt = later(steady(), everyMs);
      return this.#put(cut(this.#text));
    }
    this.#underWay = null;
  }

  async #put(text: string): Promise<void> {
    const { put, remove, steady } = this.#deps;
    const shown = await (this.#message === null
      ? put(null, text, this.#ending.signal)
      : this.#edit(this.#message, text));
    this.#underWay = null;
    if (shown.kind === 'made' && this.#ending.signal.aborted) {
      // A message with a name stays: the reply replaces it.
      if (this.#message === null) remove(shown.message);
      return;
    }
    switch (shown.kind) {
      case 'made':
        this.#name(shown.message);
        break;
      case 'over':
        this.#isOver = true;
        return;
      case 'unseen':
        this.#name(shown.message);
        this.#fail();
        break;
      case 'failed':
        this.#fail();
        break;
      case 'busy':
        this.#nextAt = later(steady(), Math.max(shown.ms, busyMsMin));
        break;
      case 'shown':
        break;
      default:
        shown satisfies never;
    }
    if (shown.kind === 'made' || shown.kind === 'shown') {
      const { repeatMs } = this.#deps;
      this.#failures = 0;
      this.#shown = text;
      this.#repeatAt = repeatMs === null ? null : later(steady(), repeatMs);
    }
    this.#plan();
  }

  async #edit(message: string, text: string): Promise<Shown> {
    const { put, deadlines } = this.#deps;
    const tooLong = new AbortController();
    const limit = deadlines.after(editMs, () => tooLong.abort());
    const shown = await put(message, text, tooLong.signal);
    limit.cancel();
    return shown;
  }
}

// Cleanup deletes messages that a delivered reply has made needless.

/** Pauses before the further tries to delete a message. */
const pausesMs = [2_000, 10_000, 60_000];

export class Cleanup {
  readonly #deadlines: Deadlines;
  readonly #remove: (message: string) => Promise<boolean>;

  /** @param remove tries once, and returns whether another try may help; never throws */
  constructor(deadlines: Deadlines, remove: (message: string) => Promise<boolean>) {
    this.#deadlines = deadlines;
    this.#remove = remove;
  }

  /** Resolves after the first try; further tries come later. Never rejects. */
  remove(message: string): Promise<void> {
    return this.#tryToRemove(message, 0);
  }

  async #tryToRemove(message: string, tries: number): Promise<void> {
    const mayHelp = await this.#remove(message);
    const pauseMs = pausesMs[tries];
    if (!mayHelp || pauseMs === undefined) return;
    this.#deadlines.after(pauseMs, () => void this.#tryToRemove(message, tries + 1));
  }
}
