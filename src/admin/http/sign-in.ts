/**
 * Who may use the pages without being shown a token: whoever brings a code that was offered on this
 * machine gets a token for it. There is one token at a time.
 *
 * nobody → offered (a code, for 60 s) → signed in (its only use); a second use of any code, a token
 * that nobody used for long, and the use of a newer code withdraw the token.
 */
import { randomBytes } from 'node:crypto';
import { createTokenCheck, type TokenCheck } from '../../lib/bearer.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { CodeTrade, Traded, Withdrawn } from '../application.ts';

const codeBytes = 16;
const tokenBytes = 32;
export const codeMs = 60_000;
/** An open page asks at least every 20 s, in the background every minute. */
export const idleMs = 15 * 60_000;
/** Codes that are remembered, so that a second use is known as one. */
const codesMax = 8;
/** One that was used is remembered for so long: who is in by it cannot have it forgotten. */
const usedMs = 3 * codeMs;

type Code = {
  readonly matches: TokenCheck;
  readonly offeredAt: SteadyTime;
  /** `replaced`: another was offered after it, before anybody used it. */
  state: 'open' | 'replaced' | 'used';
};

export type { Traded } from '../application.ts';

export class SignIn implements CodeTrade {
  readonly #steady: () => SteadyTime;
  readonly #onTraded: (traded: Traded) => void;
  readonly #idleMs: number;
  #codes: Code[] = [];
  #token: {
    readonly matches: TokenCheck;
    readonly ended: AbortController;
    usedAt: SteadyTime;
  } | null = null;
  #withdrawn: Withdrawn | null = null;

  /**
   * @param onTraded is told of each code that came and was once offered; must not throw
   * @param keptMs how long a token lasts that nobody uses; Infinity where its page may be out of
   *   sight for days
   */
  constructor(
    steady: () => SteadyTime,
    onTraded: (traded: Traded) => void,
    keptMs: number = idleMs,
  ) {
    this.#steady = steady;
    this.#onTraded = onTraded;
    this.#idleMs = keptMs;
  }

  offer(): string {
    const code = randomBytes(codeBytes).toString('base64url');
    this.#replaceOpen();
    const matches = createTokenCheck(code);
    const offeredAt = this.#steady();
    const before = this.#codes.filter((one, at) => {
      return at < codesMax - 1 || (one.state === 'used' && offeredAt - one.offeredAt < usedMs);
    });
    this.#codes = [{ matches, offeredAt, state: 'open' }, ...before];
    return code;
  }

  /**
   * A token for someone who needs no code, because the page is handed it by its own window; it
   * withdraws the one before.
   */
  grant(): string {
    const token = randomBytes(tokenBytes).toString('base64url');
    this.#withdraw('moved');
    const [matches, ended] = [createTokenCheck(token), new AbortController()];
    this.#token = { matches, ended, usedAt: this.#steady() };
    return token;
  }

  trade(sent: string): Traded {
    const code = this.#codes.find(({ matches }) => matches(sent));
    if (code === undefined) return { kind: 'refused', why: 'unknown' };
    const traded = this.#use(code);
    this.#onTraded(traded);
    return traded;
  }

  #use(code: Code): Traded {
    if (code.state === 'used') {
      this.withdraw();
      return { kind: 'refused', why: 'used_twice' };
    }
    const isLate = code.state === 'replaced' || this.#steady() - code.offeredAt > codeMs;
    if (isLate) return { kind: 'refused', why: 'late' };
    code.state = 'used';
    return { kind: 'token', token: this.grant() };
  }

  /** Whether this is the token of now; using it keeps it. */
  readonly matches: TokenCheck = (token) => {
    const held = this.#token;
    if (held === null) return false;
    if (this.#steady() - held.usedAt > this.#idleMs) {
      this.#withdraw('idle');
      return false;
    }
    if (!held.matches(token)) return false;
    held.usedAt = this.#steady();
    return true;
  };

  /** Somebody else may have the token, or the code that was offered: both are worth nothing now. */
  withdraw(): void {
    this.#replaceOpen();
    this.#withdraw('code_used_twice');
  }

  #replaceOpen(): void {
    for (const code of this.#codes) if (code.state === 'open') code.state = 'replaced';
  }

  #withdraw(why: Withdrawn): void {
    if (this.#token === null) return;
    this.#withdrawn = why;
    this.#token.ended.abort();
    this.#token = null;
  }

  /** Aborts when the token of now is withdrawn; aborted where there is none. */
  get ended(): AbortSignal {
    return this.#token?.ended.signal ?? AbortSignal.abort();
  }

  get withdrawn(): Withdrawn | null {
    return this.#withdrawn;
  }
}
