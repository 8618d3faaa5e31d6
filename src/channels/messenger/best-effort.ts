/**
 * Best-effort calls: eyes, "typing…", removing buttons, previews of a reply. They use only room
 * under the rate limits that no reply needs. They wait for it for some moments, and are dropped if
 * there is none. A 429 to one kind of call stops that kind alone. Only a 429 to a reply shows
 * that the platform takes no more replies.
 */
import type { SteadyTime } from '../../lib/clock.ts';
import { type Deadline, type Deadlines, pauseUntil } from '../../lib/deadlines.ts';
import type { BestEffortKind, CallResult, Offers, Room, Spare } from './platform.ts';
import { BackoffWindows } from './rate-limits.ts';

/** A preview that is a draft has a back-off window of its own. */
type Kind = BestEffortKind | 'preview' | 'draft';

/** `buttons` counts as a message of its chat, so it must not take a reply's place there. */
const spareOf: Readonly<Record<Kind, Spare>> = {
  reaction: 'notice',
  typing: 'notice',
  buttons: 'message',
  preview: 'message',
  draft: 'draft',
};

const waitMs = 2_500;
const waitingMax = 1_000;
/** How long svc waits for a limit that it knows, and how often, at most. */
const limitMsMax = 1_000;
const triesMax = 5;

export type BestEffortDeps<T> = {
  readonly room: Pick<Room<T>, 'spare' | 'isOfPlaces'>;
  readonly deadlines: Deadlines;
  readonly steady: () => SteadyTime;
};

/** `T` is the place of a call. */
export class BestEffort<T> implements Offers<T> {
  readonly #deps: BestEffortDeps<T>;
  readonly #backoff: BackoffWindows<Kind>;
  #waiting = 0;

  constructor(deps: BestEffortDeps<T>) {
    this.#deps = deps;
    this.#backoff = new BackoffWindows(deps.steady);
  }

  async offer(
    kind: BestEffortKind,
    target: T,
    call: () => Promise<CallResult>,
    signal: AbortSignal,
  ): Promise<CallResult | null> {
    for (let tries = 1; ; tries++) {
      if (!(await this.#waitInTurn(kind, target, signal))) return null;
      const result = this.noteLimit(kind, await call());
      if (result.kind !== 'refused' || result.unasked !== true) return result;
      const ms = result.retryAfterMs ?? 0;
      if (tries === triesMax || ms > limitMsMax) return result;
      await pauseUntil(this.#deps.deadlines, ms, signal);
    }
  }

  async #waitInTurn(kind: BestEffortKind, target: T, signal: AbortSignal): Promise<boolean> {
    if (this.#backoff.isActive(kind) || this.#waiting >= waitingMax) return false;
    const { room, deadlines } = this.#deps;
    const tooLong = new AbortController();
    const limit = deadlines.after(waitMs, () => tooLong.abort());
    this.#waiting++;
    const stop = AbortSignal.any([signal, tooLong.signal]);
    const isAdmitted = await room.spare(target, stop, spareOf[kind]);
    this.#waiting--;
    limit.cancel();
    return isAdmitted && !this.#backoff.isActive(kind);
  }

  /**
   * Waits for the room of a preview.
   * @param isFirst whether the person has seen nothing of the reply yet
   * @returns false: the signal aborted first
   */
  async waitForPreview(
    kind: 'preview' | 'draft',
    target: T,
    signal: AbortSignal,
    isFirst: boolean,
  ): Promise<boolean> {
    const ms = this.#backoff.remainingMs(kind);
    if (ms > 0) await pauseUntil(this.#deps.deadlines, ms, signal);
    return this.#deps.room.spare(target, signal, spareOf[kind], isFirst);
  }

  /** Stops that kind of call for as long as the platform asks. @returns the result itself */
  noteLimit<R extends CallResult>(kind: Kind, result: R): R {
    // A preview and "typing…" end in their own place. Eyes are put once in a place.
    if (this.#deps.room.isOfPlaces === true && kind !== 'reaction') return result;
    if (result.kind === 'refused' && result.status === 429 && result.unasked !== true) {
      this.#backoff.start(kind, result.retryAfterMs ?? 0);
    }
    return result;
  }
}

const typingFirstMs = 250;
const typingMsMax = 5 * 60_000;

/**
 * Shows "typing…" while svc works on an answer. An answer that comes at once has no "typing…"
 * before it.
 */
export class Typing {
  readonly #deadlines: Deadlines;
  readonly #shown = new Map<string, Shown>();

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /**
   * Calls `show` each `everyMs` milliseconds until all signals of that place have aborted, or until
   * `show` resolves to false; for five minutes at most.
   */
  begin(place: string, everyMs: number, show: ShowTyping, signal: AbortSignal): void {
    if (signal.aborted) return;
    const shown = this.#shown.get(place) ?? this.#start(place, everyMs, show);
    shown.signals.add(signal);
    const aborted = (): void => {
      shown.signals.delete(signal);
      if (shown.signals.size === 0) shown.end();
    };
    signal.addEventListener('abort', aborted, { once: true });
  }

  #start(place: string, everyMs: number, show: ShowTyping): Shown {
    const ending = new AbortController();
    let shownMs = 0;
    const send = (): void => {
      shownMs += everyMs;
      if (shownMs > typingMsMax) return shown.end();
      next = this.#deadlines.after(everyMs, send);
      void show(ending.signal).then((goesOn) => goesOn || shown.end());
    };
    let next: Deadline = this.#deadlines.after(typingFirstMs, send);
    const end = (): void => {
      next.cancel();
      ending.abort();
      if (this.#shown.get(place) === shown) this.#shown.delete(place);
    };
    const shown: Shown = { signals: new Set(), end };
    this.#shown.set(place, shown);
    return shown;
  }
}

/** @param signal aborts when typing ends in that place */
type ShowTyping = (signal: AbortSignal) => Promise<boolean>;

/** `signals`: one for each answer on which svc works in that place. */
type Shown = { readonly signals: Set<AbortSignal>; readonly end: () => void };
