import type { SteadyTime } from '../../lib/clock.ts';

/**
 * The updates that were taken and that Telegram has not been told to forget. It forgets those
 * below the offset of the next poll, so the offset stays at the oldest that is not yet safe.
 *
 * An answer has at most a hundred updates, from the offset on. So that one slow answer does not
 * keep new messages away, an update that is held for 20 s, or the oldest of more than 80, is let go
 * although it is not safe; `letGo` counts those.
 */
export const heldMax = 80;
export const heldMaxMs = 20_000;

export class HeldUpdates {
  /** In the order of their ids. */
  readonly #held: Held[] = [];
  readonly #steady: () => SteadyTime;
  #offset: number | null = null;
  #unsafe = 0;
  #letGo = 0;
  #allSafe: (() => void) | null = null;

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  /** Since the start, how many were confirmed before they were safe. */
  get letGo(): number {
    return this.#letGo;
  }

  /** Everything before this may be forgotten; null: nothing is known to be confirmed. */
  get offset(): number | null {
    return this.#held[0]?.id ?? this.#offset;
  }

  get empty(): boolean {
    return this.#held.length === 0;
  }

  /** It has come before, and is held. */
  has(id: number): boolean {
    const last = this.#held.at(-1);
    return last !== undefined && id <= last.id;
  }

  /** @param safe resolves when Telegram may forget it; null: at once */
  add(id: number, safe: Promise<void> | null): void {
    const held: Held = { id, since: this.#steady(), safe: safe === null };
    this.#held.push(held);
    if (safe === null) return;
    this.#unsafe++;
    void safe.then(() => this.#becameSafe(held));
  }

  /** Lets go of the updates that are safe. */
  advance(): void {
    this.#release(() => false);
  }

  /** Lets go of safe updates, and of those held for too long or beyond the number. */
  advanceWithinLimits(): void {
    const now = this.#steady();
    this.#release(({ since }, left) => left > heldMax || now - since >= heldMaxMs);
  }

  #release(isOver: (held: Held, left: number) => boolean): void {
    let gone = 0;
    for (const held of this.#held) {
      if (!held.safe && !isOver(held, this.#held.length - gone)) break;
      if (!held.safe) this.#letGo++;
      this.#offset = held.id + 1;
      gone++;
    }
    for (const held of this.#held.splice(0, gone)) if (!held.safe) this.#forget(held);
  }

  /** Telegram has nothing more, so the offset need not be said again: ids may begin anew. */
  confirmed(): void {
    if (this.empty) this.#offset = null;
  }

  /** Resolves when everything held is safe. */
  async allSafe(): Promise<void> {
    if (this.#unsafe === 0) return;
    await new Promise<void>((resolve) => (this.#allSafe = resolve));
  }

  #becameSafe(held: Held): void {
    if (held.safe) return;
    held.safe = true;
    this.#settleOne();
  }

  /** What becomes of the update later changes nothing here. */
  #forget(held: Held): void {
    held.safe = true;
    this.#settleOne();
  }

  #settleOne(): void {
    this.#unsafe--;
    if (this.#unsafe > 0) return;
    this.#allSafe?.();
    this.#allSafe = null;
  }
}

type Held = { readonly id: number; readonly since: SteadyTime; safe: boolean };
