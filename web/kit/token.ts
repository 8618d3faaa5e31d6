/**
 * The administrator's token, for as long as the page is open: in memory alone, never in a URL,
 * a cookie or a storage of the browser.
 */
import { create } from 'zustand';

type TokenState = {
  readonly token: string | null;
  readonly signIn: (token: string) => void;
  readonly signOut: () => void;
};

export const useToken = create<TokenState>((set) => ({
  token: null,
  signIn: (token) => set({ token }),
  signOut: () => set({ token: null }),
}));
