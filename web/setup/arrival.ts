/**
 * How somebody comes in. The link holds a code behind its `#`, which is taken out of the address
 * at once and traded for a token; a window of its own hands over a token instead. The token is in
 * the memory of this page alone, so that a page that is loaded again has none.
 */
import { create } from 'zustand';
import { ask } from '../kit/api.ts';
import { useToken } from '../kit/token.ts';

/** `out`: nobody is signed in, and what to do about it; `why` is of the service, or null. */
type Arrival =
  | { readonly kind: 'entering' }
  | { readonly kind: 'in' }
  | { readonly kind: 'out'; readonly why: string | null };

export const useArrival = create<{ readonly now: Arrival }>(() => ({ now: { kind: 'entering' } }));

const set = (now: Arrival): void => useArrival.setState({ now });

/** Takes the code out of the address, and comes in with it; again with each new link. */
export function enterByLink(): void {
  addEventListener('hashchange', () => {
    if (location.hash !== '') enterByLink();
  });
  const code = takeCode();
  if (code !== null) void enter(code);
  else if (globalThis.svcShell === undefined) set({ kind: 'out', why: null });
  else void enterByWindow(globalThis.svcShell);
}

/** What a window of its own lends to the page. */
type Shell = { readonly signIn: () => Promise<string> };

declare global {
  // A global that another program defines is a `var` to TypeScript.
  var svcShell: Shell | undefined;
}

async function enterByWindow(shell: Shell): Promise<void> {
  useToken.getState().signIn(await shell.signIn());
  set({ kind: 'in' });
}

function takeCode(): string | null {
  const code = location.hash.slice(1);
  if (code === '') return null;
  history.replaceState(null, '', location.pathname);
  return code;
}

async function enter(code: string): Promise<void> {
  set({ kind: 'entering' });
  const answer = await ask<{ readonly token: string }>('sign-in', {
    method: 'POST',
    body: { code },
  });
  if (answer.kind === 'refused') return leave(answer.detail);
  useToken.getState().signIn(answer.value.token);
  set({ kind: 'in' });
}

/** The token is good no more. @param why what the service said of it */
export function leave(why: string): void {
  useToken.getState().signOut();
  set({ kind: 'out', why });
}
