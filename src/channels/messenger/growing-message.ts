/**
 * A reply that is shown while it is written, as one message that grows by edits, or as a draft of
 * one where the platform has drafts: the newest text alone, at most one call under way, and no
 * oftener than the platform bears. After what went wrong three times in a row, or at the first
 * limit, it is silent: the reply itself comes all the same.
 */
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import type { Preview } from '../channel.ts';

/**
 * What became of a call: `busy` was not made, and may be made after so long; after `over` none is.
 * `made`: a new message shows the text. `unseen`: it may come to show it any time, and is
 * known by that name from now on.
 */
export type Shown =
  | { readonly kind: 'made' | 'unseen'; readonly message: string }
  | { readonly kind: 'busy'; readonly ms: number }
  | { readonly kind: 'shown' | 'failed' | 'over' };

export type GrowingDeps = {
  /** The message that there is; null: it is still to be made. */
  readonly message: string | null;
  /** What names the new message before anybody knows it; null: nothing on this platform. */
  readonly unseen: string | null;
  /** Is told each name of the message, the newest last. */
  readonly made: (message: string) => void;
  /** As much of a text as one message holds. What is beyond it changes nothing that is seen. */
  readonly cut: (text: string) => string;
  /**
   * Resolves when the platform bears a call that no reply needs; false: stopped before.
   * @param isFirst whether the person has seen nothing of the reply yet
   */
  readonly room: (signal: AbortSignal, isFirst: boolean) => Promise<boolean>;
  /** Makes the message, or gives it this text. Never throws. */
  readonly put: (message: string | null, text: string, signal: AbortSignal) => Promise<Shown>;
  /** Takes away a message that was made too late for anyone to know of it. Never throws. */
  readonly takeAway: (message: string) => void;
  /** Between the beginnings of two calls, at least. Looked at anew for each. */
  readonly everyMs: number;
  /** How long after a call its text is put again, since it goes by itself; null: it stays. */
  readonly fadesMs: number | null;
  readonly steady: () => SteadyTime;
  readonly deadlines: Deadlines;
};

/** A reply that comes sooner is not shown before, unless there is something to read already. */
const firstMs = 700;
const firstCharacters = 40;
const failuresMax = 3;
const busyMsMin = 100;
/** An edit that takes longer is given up. */
const editMs = 4_000;
/**
 * What its end waits for at most, above `editMs`: an edit that comes after the reply's would stand.
 */
const endMs = 4_500;

/** What stands behind a text that goes on. */
export const goesOn = ' …';

/** Shows nothing. */
export const noPreview: Preview = { show() {}, end: () => Promise.resolve() };

export class GrowingMessage implements Preview {
  readonly #deps: GrowingDeps;
  /** Of waiting for room. */
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();
  readonly #begunAt: SteadyTime;
  #message: string | null;
  #text = '';
  #shown = '';
  /** Whether a first call was begun; what comes after it has its own time. */
  #hasCalled = false;
  #nextAt: SteadyTime;
  /** When the text that is shown is put again. */
  #fadesAt: SteadyTime | null = null;
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
    // After a stall the edit's deadline is as late as this one: its outcome comes first.
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
    this.#planAt(this.#text === this.#shown ? this.#fadesAt : this.#nextAt);
  }

  #planAt(at: SteadyTime | null): void {
    // What is planned for later gives way: a stream's first piece has planned its first sight.
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
    const fades = this.#fadesAt !== null && this.#fadesAt <= now;
    if (fades || cut(this.#text) !== this.#shown) this.#underWay = this.#inTurn();
    else this.#planAt(this.#fadesAt);
  }

  async #inTurn(): Promise<void> {
    const { room, cut, steady, everyMs } = this.#deps;
    const isAdmitted = await room(this.#stopping.signal, this.#shown === '');
    if (isAdmitted && !this.#isOver) {
      this.#nextAt = later(steady(), everyMs);
      return this.#put(cut(this.#text));
    }
    this.#underWay = null;
  }

  async #put(text: string): Promise<void> {
    const { put, takeAway, steady } = this.#deps;
    const shown = await (this.#message === null
      ? put(null, text, this.#ending.signal)
      : this.#edit(this.#message, text));
    this.#underWay = null;
    if (shown.kind === 'made' && this.#ending.signal.aborted) {
      // What has a name is the reply's to replace.
      if (this.#message === null) takeAway(shown.message);
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
      const { fadesMs } = this.#deps;
      this.#failures = 0;
      this.#shown = text;
      this.#fadesAt = fadesMs === null ? null : later(steady(), fadesMs);
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

// What a reply that has arrived leaves in its chat: a message that it made needless is taken away.

/** Before each further try to take a message away. */
const pausesMs = [2_000, 10_000, 60_000];

export class Cleanup {
  readonly #deadlines: Deadlines;
  readonly #remove: (message: string) => Promise<boolean>;

  /** @param remove tries once, and returns whether another try may help; never throws */
  constructor(deadlines: Deadlines, remove: (message: string) => Promise<boolean>) {
    this.#deadlines = deadlines;
    this.#remove = remove;
  }

  /** Resolves when it was tried once; what may help is tried later. Never rejects. */
  takeAway(message: string): Promise<void> {
    return this.#tryToTakeAway(message, 0);
  }

  async #tryToTakeAway(message: string, tries: number): Promise<void> {
    const mayHelp = await this.#remove(message);
    const pauseMs = pausesMs[tries];
    if (!mayHelp || pauseMs === undefined) return;
    this.#deadlines.after(pauseMs, () => void this.#tryToTakeAway(message, tries + 1));
  }
}
