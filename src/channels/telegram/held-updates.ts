/**
 * Updates that svc has taken and Telegram must not forget yet. Telegram forgets all updates below
 * the offset of the next poll. So the offset stays at the oldest update that is not safe.
 *
 * An answer holds at most a hundred updates, from the offset on, so one slow answer could block new
 * messages. Therefore svc confirms an update that is not safe after 20 s, or when it is the oldest
 * of more than 80. `confirmedEarlyCount` counts these updates.
 */
import type { SteadyTime } from '../../lib/clock.ts';

export const heldMax = 80;
export const heldMaxMs = 20_000;

export class HeldUpdates {
  /** In the order of their ids. */
  readonly #held: Held[] = [];
  readonly #steady: () => SteadyTime;
  #offset: number | null = null;
  #unsafe = 0;
  #confirmedEarlyCount = 0;
  #allSafe: (() => void) | null = null;

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  /** How many updates were confirmed before they were safe, since the start. */
  get confirmedEarlyCount(): number {
    return this.#confirmedEarlyCount;
  }

  /** Telegram may forget every update before this one; null: there is no known offset. */
  get offset(): number | null {
    return this.#held[0]?.id ?? this.#offset;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /** Whether the update came before and is still held. */
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
    void safe.then(() => this.#markSafe(held));
  }

  /** Confirms the updates that are safe. */
  confirmSafe(): void {
    this.#release(() => false);
  }

  /** Confirms safe updates, and those beyond the limits of time and number. */
  confirmWithinLimits(): void {
    const now = this.#steady();
    this.#release(({ since }, remaining) => remaining > heldMax || now - since >= heldMaxMs);
  }

  #release(isOver: (held: Held, remaining: number) => boolean): void {
    let gone = 0;
    for (const held of this.#held) {
      if (!held.safe && !isOver(held, this.#held.length - gone)) break;
      if (!held.safe) this.#confirmedEarlyCount++;
      this.#offset = held.id + 1;
      gone++;
    }
    for (const held of this.#held.splice(0, gone)) if (!held.safe) this.#abandon(held);
  }

  /** Telegram has no more updates. So svc drops the offset, since Telegram may begin new ids. */
  confirmed(): void {
    if (this.isEmpty) this.#offset = null;
  }

  /** Resolves when every held update is safe. */
  async allSafe(): Promise<void> {
    if (this.#unsafe === 0) return;
    await new Promise<void>((resolve) => (this.#allSafe = resolve));
  }

  #markSafe(held: Held): void {
    if (held.safe) return;
    held.safe = true;
    this.#countAsSafe();
  }

  /** The update no longer counts as unsafe; its later outcome is ignored. */
  #abandon(held: Held): void {
    held.safe = true;
    this.#countAsSafe();
  }

  #countAsSafe(): void {
    this.#unsafe--;
    if (this.#unsafe > 0) return;
    this.#allSafe?.();
    this.#allSafe = null;
  }
}

type Held = { readonly id: number; readonly since: SteadyTime; safe: boolean };
