/**
 * What outlives a connection: the position in Discord's stream of events, and the budget of new
 * sessions.
 *
 * The platform keeps the events of a session for a while, and repeats them from any sequence
 * number. The number here is that of the last event whose message the ledger has. The number of the
 * last received event is ahead of it, and svc never uses that one.
 */
import { later, msSince, type Clock, type SteadyTime } from '../../lib/clock.ts';
import { fieldsOf, parseJson, textOf } from '../../lib/json.ts';
import type { MessengerDeps } from '../messenger/messenger.ts';
import type { Intake } from '../messenger/platform.ts';
import { isGatewayUrl, isLater, type Target } from './wire.ts';

/** What the parts of the gateway share. `faulted`: called with an error of svc itself. */
export type GatewayDeps = MessengerDeps &
  Intake<Target> & {
    readonly sessions: Sessions;
    readonly budget: IdentifyBudget;
    readonly faulted: (error: unknown) => void;
  };

/** The names of what svc stores beside the messages. */
export const cursorNames = { session: 'session', places: 'places', budget: 'identifies' } as const;

/** An event of the session. */
export type Dispatch = { readonly name: string; readonly sequence: number; readonly data: unknown };

/** `sequence` moves only with a commit. */
export type Session = {
  readonly id: string;
  readonly resumeUrl: string;
  sequence: number;
  /** Whether the messages between the last session and this one are still to be fetched. */
  behind: boolean;
};

/** After so many failed resumes svc begins a new session. */
const failedResumesMax = 3;

export class Sessions {
  current: Session | null;
  /** The id of the newest message in the ledger; null: there is none. */
  newest: string | null;
  /** The bot's own user id, as the session reported it; null: none did. */
  self: string | null;
  #failedResumes = 0;

  /** @param text a former result of `textOf`; null: there is none */
  constructor(text: string | null) {
    const stored = parseSession(text);
    this.current = stored?.session ?? null;
    this.newest = stored?.newest ?? null;
    this.self = stored?.self ?? null;
  }

  /** Begins a new session at that sequence. */
  begin(id: string, resumeUrl: string, sequence: number): void {
    this.current = { id, resumeUrl, sequence, behind: true };
    this.#failedResumes = 0;
  }

  lose(): void {
    this.current = null;
    this.#failedResumes = 0;
  }

  /** Notes a resume: the platform repeats from here, and former failures no longer count. */
  resumed(): void {
    this.#failedResumes = 0;
  }

  /** Notes a connection that ended before its session was resumed. */
  resumeFailed(): void {
    if (this.current !== null && ++this.#failedResumes >= failedResumesMax) this.lose();
  }

  /** The text to store once the ledger has everything up to that sequence and that message. */
  textOf(session: Session, sequence: number, newest: string | null): string {
    const { id, resumeUrl } = session;
    return JSON.stringify({ id, resumeUrl, sequence, newest, self: this.self });
  }

  /** Notes that the ledger has everything up to that sequence and that message. */
  advance(session: Session, sequence: number, newest: string | null): void {
    session.sequence = Math.max(session.sequence, sequence);
    this.newest = newest;
  }
}

/** The later one of two message ids. */
export function laterOf(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return isLater(a, b) ? a : b;
}

function parseSession(text: string | null) {
  const { id, resumeUrl, sequence, newest, self } = fieldsOf(parseJson(text ?? ''));
  if (typeof id !== 'string' || typeof resumeUrl !== 'string') return null;
  if (typeof sequence !== 'number' || !isGatewayUrl(resumeUrl)) return null;
  const session = { id, resumeUrl, sequence, behind: false };
  return { session, newest: textOf(newest) || null, self: textOf(self) || null };
}

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

/**
 * How often svc may begin a new session. Beyond 1,000 a day Discord revokes the token. So svc stays
 * at half of that, even in a restart loop: some sessions at once, and one more every few minutes.
 */
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
    const stored = parseBudget(text);
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

function parseBudget(text: string | null): { left: number; at: number } | null {
  const { left, at } = fieldsOf(parseJson(text ?? ''));
  const isCount = typeof left === 'number' && Number.isInteger(left) && left >= 0;
  return isCount && typeof at === 'number' ? { left, at } : null;
}
