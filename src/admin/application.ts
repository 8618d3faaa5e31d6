/**
 * The application that the service runs in, as the admin room knows it: whom its window signed in,
 * and a page of its own, for when the service is not there. Absent where svc runs by itself.
 */

/** Codes of one use, and the token that one is traded for; `SignIn` in http/sign-in.ts is it. */
export interface CodeTrade {
  /** @returns a new code, of characters that a URL takes; those before it are worth nothing now */
  offer(): string;
  trade(sent: string): Traded;
  /** Why a token that was right is so no more; null: there never was another. */
  readonly withdrawn: Withdrawn | null;
}

/** Why nobody has the token any more, as far as the page is told. */
export type Withdrawn = 'code_used_twice' | 'moved' | 'idle';

export type Traded =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refused'; readonly why: 'unknown' | 'late' | 'used_twice' };

/** May be called at any time; returns at once and never throws. */
export interface ApplicationLink {
  readonly signIn: CodeTrade;
  /** The application's own page; null: nobody shows one at this moment. */
  readonly page: string | null;
  /** Asks for a window that is signed in. */
  showWindow(): WindowAsked;
}

export type WindowAsked =
  | { readonly kind: 'asked' }
  /** It was asked for just now. */
  | { readonly kind: 'too_soon'; readonly afterMs: number }
  /** Nobody is there to show one. */
  | { readonly kind: 'no_shell' };

/** What `/api/v1/application` answers. */
export type ApplicationView = {
  /** Somebody is there who can show a window. */
  readonly shell: boolean;
  /** Told to who is signed in, on this machine; null for others, and where nobody shows one. */
  readonly page: string | null;
};
