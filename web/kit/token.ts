/**
 * The administrator's token, for as long as the page is open: in memory alone, never in a URL,
 * a cookie or a storage of the browser. arrival.ts alone changes it.
 */
import { create } from 'zustand';

type Token = {
  readonly token: string | null;
  /**
   * The service takes the token no more, and nobody has signed in again yet. It is sent no more
   * then; what the person had before them stays until they have.
   */
  readonly hasLapsed: boolean;
};

export const useToken = create<Token>(() => ({ token: null, hasLapsed: false }));

/** What is sent as the bearer; null: nothing is. */
export const bearerOf = ({ token, hasLapsed }: Token): string | null => (hasLapsed ? null : token);
