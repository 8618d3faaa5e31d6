/**
 * The administrator's token. It is in memory only while the page is open: never in a URL, a cookie
 * or a storage of the browser. Only arrival.ts changes it.
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

/** The bearer for requests; null: none. */
export const bearerOf = ({ token, hasLapsed }: Token): string | null => (hasLapsed ? null : token);
