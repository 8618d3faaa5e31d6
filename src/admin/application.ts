/**
 * The port to the application around the service: the user whom its window signed in, and its own
 * page, which works without the service. Absent if no application runs around svc.
 */

/** Trades a code, which works once, for a token. `SignIn` in http/sign-in.ts implements it. */
export interface CodeTrade {
  /** @returns a new code of URL-safe characters; earlier codes are invalid now */
  offer(): string;
  trade(sent: string): Traded;
  /** Why the last valid token is invalid now; null: there never was one. */
  readonly withdrawn: Withdrawn | null;
}

/** Why the token is invalid, as the page reports it. */
export type Withdrawn = 'code_used_twice' | 'moved' | 'idle';

export type Traded =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refused'; readonly why: 'unknown' | 'late' | 'used_twice' };

/** May be called at any time; returns at once and never throws. */
export interface ApplicationLink {
  readonly signIn: CodeTrade;
  /** The URL of the application's own page; null: it shows none now. */
  readonly page: string | null;
  /** Asks for a window that is signed in. */
  showWindow(): WindowAsked;
}

export type WindowAsked =
  | { readonly kind: 'asked' }
  /** Another request came just before. */
  | { readonly kind: 'too_soon'; readonly afterMs: number }
  /** No shell runs that could show a window. */
  | { readonly kind: 'no_shell' };

/** The answer of `/api/v1/application`. */
export type ApplicationView = {
  /** Whether a shell runs that can show a window. */
  readonly shell: boolean;
  /** Only for a signed-in user on this machine; null for others, or without a page. */
  readonly page: string | null;
};
