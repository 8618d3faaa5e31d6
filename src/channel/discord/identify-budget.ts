/**
 * How often a new session may be begun. Beyond 1,000 a day Discord takes the token away, so svc
 * stays at half of that whatever happens, a service that restarts in a circle included: so many
 * at once, and one more every few minutes.
 */
export type IdentifyLimits = {
  readonly atOnceMax: number;
  readonly oneEveryMs: number;
  /** Between two of them: the platform wants 5 s. */
  readonly spacingMs: number;
};

export const identifyLimits: IdentifyLimits = {
  atOnceMax: 20,
  oneEveryMs: 180_000,
  spacingMs: 5_000,
};

export class IdentifyBudget {
  readonly #now: () => number;
  readonly #limits: IdentifyLimits;
  #left: number;
  #at: number;
  #lastAt = -Infinity;

  /**
   * @param text as `text` was; null: there was none yet
   * @param now milliseconds since 1970
   */
  constructor(text: string | null, now: () => number, limits: IdentifyLimits) {
    this.#now = now;
    this.#limits = limits;
    const kept = parse(text);
    this.#left = Math.min(kept?.left ?? limits.atOnceMax, limits.atOnceMax);
    this.#at = kept?.at ?? now();
  }

  /** What is to be kept over a restart. */
  get text(): string {
    return JSON.stringify({ left: this.#left, at: this.#at });
  }

  /** @returns null: it may be begun, and is counted; else when (milliseconds since 1970) it may */
  take(): number | null {
    const now = this.#now();
    const { atOnceMax, oneEveryMs, spacingMs } = this.#limits;
    // A clock that was set back earns nothing and costs nothing.
    const earned = Math.floor(Math.max(0, now - this.#at) / oneEveryMs);
    this.#left = Math.min(atOnceMax, this.#left + earned);
    this.#at = now < this.#at || this.#left === atOnceMax ? now : this.#at + earned * oneEveryMs;
    const spacedAt = this.#lastAt + spacingMs;
    if (now < spacedAt) return spacedAt;
    if (this.#left === 0) return this.#at + oneEveryMs;
    this.#left--;
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
