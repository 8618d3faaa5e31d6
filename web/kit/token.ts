/**
 * The administrator's token, for as long as the page is open: in memory alone, never in a URL,
 * a cookie or a storage of the browser. arrival.ts alone changes it.
 */
import { create } from 'zustand';

export const useToken = create<{ readonly token: string | null }>(() => ({ token: null }));
