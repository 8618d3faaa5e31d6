/**
 * Signs a page in without showing a token to a person. A page that brings a code, which was offered
 * on this machine, gets a token. There is one token at a time.
 *
 * nobody → offered (a code, for 60 s) → signed in (the code's only use). The token is withdrawn by
 * a second use of any code, by long disuse, and by the use of a newer code.
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
/** How many codes are remembered, to recognise a second use. */
const codesMax = 8;
/**
 * How long a used code is remembered at least. A signed-in page cannot push it out by offering new
 * codes.
 */
const usedMs = 3 * codeMs;

type Code = {
  readonly matches: TokenCheck;
  readonly offeredAt: SteadyTime;
  /** `replaced`: a newer code was offered before anybody used this one. */
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
   * @param onTraded receives each code that came and was once offered; must not throw
   * @param keptMs how long an unused token lasts; Infinity if its page may be out of sight for days
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
   * Creates a token for a page whose own window passes it on, so it needs no code. Withdraws the
   * previous token.
   */
  grant(): string {
    const token = randomBytes(tokenBytes).toString('base64url');
    this.#withdraw('moved');
    const matches = createTokenCheck(token);
    const ended = new AbortController();
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

  /** Whether this is the current token. Using it keeps it alive. */
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

  /** Withdraws the token and the open code, since somebody else may have them. */
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

  /** Aborts when the current token is withdrawn; already aborted without one. */
  get ended(): AbortSignal {
    return this.#token?.ended.signal ?? AbortSignal.abort();
  }

  get withdrawn(): Withdrawn | null {
    return this.#withdrawn;
  }
}
