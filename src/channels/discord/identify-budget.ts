/**
 * How often svc may begin a new session. Beyond 1,000 a day Discord revokes the token. So svc stays
 * at half of that, even in a restart loop: some sessions at once, and one more every few minutes.
 */
import { later, msSince, type Clock, type SteadyTime } from '../../lib/clock.ts';

export type IdentifyLimits = {
  readonly atOnceMax: number;
  readonly oneEveryMs: number;
  /** Between two new sessions: the platform wants 5 s. */
  readonly spacingMs: number;
};

export const identifyLimits: IdentifyLimits = {
  atOnceMax: 20,
  oneEveryMs: 180_000,
  spacingMs: 5_000,
};

export class IdentifyBudget {
  readonly #clock: Clock;
  readonly #limits: IdentifyLimits;
  #remaining: number;
  /** When the next session began to accrue. */
  #at: SteadyTime;
  #lastAt: SteadyTime | null = null;

  /** @param text a former value of `text`; null: there is none */
  constructor(text: string | null, clock: Clock, limits: IdentifyLimits) {
    this.#clock = clock;
    this.#limits = limits;
    const stored = parse(text);
    this.#remaining = Math.min(stored?.left ?? limits.atOnceMax, limits.atOnceMax);
    const since = stored === null ? 0 : msSince(stored.at, clock);
    this.#at = later(clock.steady(), -since);
  }

  /** The text to store over a restart. */
  get text(): string {
    const { now, steady } = this.#clock;
    return JSON.stringify({ left: this.#remaining, at: now() - (steady() - this.#at) });
  }

  /** @returns null: a session may begin, and now counts; else the milliseconds until one may */
  take(): number | null {
    const now = this.#clock.steady();
    const { atOnceMax, oneEveryMs, spacingMs } = this.#limits;
    const earned = Math.floor((now - this.#at) / oneEveryMs);
    this.#remaining = Math.min(atOnceMax, this.#remaining + earned);
    this.#at = this.#remaining === atOnceMax ? now : later(this.#at, earned * oneEveryMs);
    const spacedMs = this.#lastAt === null ? 0 : spacingMs - (now - this.#lastAt);
    if (spacedMs > 0) return spacedMs;
    if (this.#remaining === 0) return oneEveryMs - (now - this.#at);
    this.#remaining--;
    this.#lastAt = now;
    return null;
  }
}

function parse(text: string | null): { left: number; at: number } | null {
  try {
    const { left, at } = (JSON.parse(text ?? 'null') ?? {}) as Record<string, unknown>;
    const isCount = typeof left === 'number' && Number.isInteger(left) && left >= 0;
    return isCount && typeof at === 'number' ? { left, at } : null;
  } catch {
    return null;
  }
}
