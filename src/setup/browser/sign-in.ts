/**
 * Who may use the page of the wizard: whoever brings a code that was offered on this machine gets a
 * token for it. There is one token at a time.
 *
 * nobody → offered (a code, for 60 s) → signed in (its only use); a second use of any code, a token
 * that nobody used for long, and the use of a newer code withdraw the token.
 */
import { randomBytes } from 'node:crypto';
import { createTokenCheck, type TokenCheck } from '../../lib/bearer.ts';
import type { SteadyTime } from '../../lib/clock.ts';

const codeBytes = 16;
const tokenBytes = 32;
export const codeMs = 60_000;
/** An open page asks at least every 20 s, in the background every minute. */
export const idleMs = 15 * 60_000;
/** Codes that are remembered, so that a second use is known as one. */
const codesMax = 8;

type Code = {
  readonly matches: TokenCheck;
  readonly offeredAt: SteadyTime;
  /** `replaced`: another was offered after it, before anybody used it. */
  state: 'open' | 'replaced' | 'used';
};

/** Why nobody has the token any more, as far as the page is told. */
export type Withdrawn = 'code_used_twice' | 'moved' | 'idle';

export type Traded =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refused'; readonly why: 'unknown' | 'late' | 'used_twice' };

export class SignIn {
  readonly #steady: () => SteadyTime;
  readonly #onTraded: (traded: Traded) => void;
  #codes: Code[] = [];
  #token: {
    readonly matches: TokenCheck;
    readonly ended: AbortController;
    usedAt: SteadyTime;
  } | null = null;
  #withdrawn: Withdrawn | null = null;

  /** @param onTraded is told of each code that came and was once offered; must not throw */
  constructor(steady: () => SteadyTime, onTraded: (traded: Traded) => void) {
    this.#steady = steady;
    this.#onTraded = onTraded;
  }

  /** @returns a new code, of characters that a URL takes; those before it are worth nothing now */
  offer(): string {
    const code = randomBytes(codeBytes).toString('base64url');
    for (const before of this.#codes) if (before.state === 'open') before.state = 'replaced';
    const matches = createTokenCheck(code);
    this.#codes = [{ matches, offeredAt: this.#steady(), state: 'open' }, ...this.#codes];
    this.#codes.length = Math.min(this.#codes.length, codesMax);
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
      this.#withdraw('code_used_twice');
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
    if (this.#steady() - held.usedAt > idleMs) {
      this.#withdraw('idle');
      return false;
    }
    if (!held.matches(token)) return false;
    held.usedAt = this.#steady();
    return true;
  };

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

  /** Why a token that was right is so no more; null: there never was another. */
  get withdrawn(): Withdrawn | null {
    return this.#withdrawn;
  }
}
