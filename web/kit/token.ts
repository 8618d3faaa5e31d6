/**
 * The administrator's token. A typed one is also in the tab's `sessionStorage`, so that a reload
 * and the other pages of svc do not ask for it; the browser deletes it with the tab. It is never in
 * a URL, a cookie, `localStorage` or a message to another window. Only arrival.ts changes it.
 */
import { create } from 'zustand';

type Token = {
  readonly token: string | null;
  /**
   * True: the service refuses the token, and nobody has signed in again yet. Requests no longer
   * send it. The page's content stays until the next sign-in.
   */
  readonly hasLapsed: boolean;
};

export const useToken = create<Token>(() => ({ token: null, hasLapsed: false }));

const kept = 'svc-token';

/** The token that a page in this tab has kept; null: none. */
export function tokenOfTab(): string | null {
  try {
    return sessionStorage.getItem(kept);
  } catch {
    return null;
  }
}

/** @param token null: the tab keeps none */
export function keepInTab(token: string | null): void {
  try {
    if (token === null) sessionStorage.removeItem(kept);
    else sessionStorage.setItem(kept, token);
  } catch {
    // The browser stores nothing: the next page asks for the token.
  }
}

/** The bearer for requests; null: none. */
export const bearerOf = ({ token, hasLapsed }: Token): string | null => (hasLapsed ? null : token);
