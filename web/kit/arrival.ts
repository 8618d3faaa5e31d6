/**
 * How somebody comes in, and is put out again. A link holds a code behind its `#`, which is taken
 * out of the address at once and traded for a token; a window of its own hands over a token
 * instead; else a person types one (sign-in.tsx). The token is in the memory of this page alone, so
 * that a page that is loaded again has none.
 *
 * entering → in, or out;  in → out: signed out, or the service takes no more what it handed over;
 * in → entering: a window of its own that is asked anew; in → in: a token that was typed has
 * lapsed (token.ts), and another is
 */
import { create } from 'zustand';
import type { SignedIn } from '../../apps/desktop/desktop.ts';
import { ask, onBearerRefused, type Refused } from './api.ts';
import { cameIn, useApplication } from './application.ts';
import { useToken } from './token.ts';

/**
 * `in`: what is handed over may be no token, where a service is for looking at alone. `out`: nobody
 * is signed in; `why` is a sentence, or null where there is nothing to tell.
 */
export type Arrival =
  | { readonly kind: 'entering' }
  | { readonly kind: 'in'; readonly how: 'handed' | 'typed' }
  | { readonly kind: 'out'; readonly why: string | null };

export const useArrival = create<{ readonly now: Arrival }>(() => ({
  now: { kind: 'out', why: null },
}));

const set = (now: Arrival): void => useArrival.setState({ now });

/** Comes in with what the address holds, or by the window; again with each new link. */
export function arrive(): void {
  addEventListener('hashchange', () => void comeByLink());
  onBearerRefused(putOut);
  if (!comeByLink()) void comeByWindow();
}

/** What a window of its own lends to the page. */
type Shell = { readonly signIn: () => Promise<SignedIn> };

declare global {
  // A global that another program defines is a `var` to TypeScript.
  var svcShell: Shell | undefined;
}

/** As src/admin/http/sign-in.ts makes them; any other word behind the `#` is a place here. */
const codePattern = /^#[\w-]{22}$/;

/** @returns whether the address held a code */
function comeByLink(): boolean {
  const { hash, pathname, search } = location;
  if (!codePattern.test(hash)) return false;
  history.replaceState(null, '', pathname + search);
  void trade(hash.slice(1));
  return true;
}

async function trade(code: string): Promise<void> {
  set({ kind: 'entering' });
  const answer = await ask<SignedIn>('sign-in', { method: 'POST', body: { code } });
  if (answer.kind === 'refused') leave(answer.detail);
  else takeOver(answer.value);
}

/** A window that does not say who it is within this time is one without a shell. */
const windowMs = 10_000;

/** Asks the window that shows this page, where it is one of the application. */
export async function comeByWindow(): Promise<void> {
  const shell = globalThis.svcShell;
  if (shell === undefined) return;
  set({ kind: 'entering' });
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), windowMs));
  const given = await Promise.race([shell.signIn().catch(() => null), late]);
  if (given !== null) return takeOver(given);
  leave('The application that this window belongs to does not answer.');
}

let handedAt = 0;

function takeOver({ token = null, page = null }: Partial<SignedIn>): void {
  handedAt = performance.now();
  cameIn({ token, page });
  useToken.setState({ token, hasLapsed: false });
  set({ kind: 'in', how: 'handed' });
}

/** Comes in with a token that a person typed, and the service took. */
export function enterWith(token: string): void {
  useToken.setState({ token, hasLapsed: false });
  set({ kind: 'in', how: 'typed' });
}

/** @param why a sentence for the person; null: they asked for it */
export function leave(why: string | null): void {
  useToken.setState({ token: null, hasLapsed: false });
  set({ kind: 'out', why });
}

/** The service takes the token no more. Who typed it keeps all that is before them meanwhile. */
function putOut({ code, detail }: Refused, token: string): void {
  const { now } = useArrival.getState();
  const isOld = token !== useToken.getState().token;
  if (isOld || now.kind !== 'in') return;
  if (now.how === 'typed') return useToken.setState({ hasLapsed: true });
  const isToldWhy = code.startsWith('signed_out_');
  // Another page goes on: to take it back unasked would put that one out, and so on for ever. And
  // what was refused just after it was handed over would be again.
  const mayAskAgain = code !== 'signed_out_moved' && performance.now() - handedAt > againMs;
  if (globalThis.svcShell !== undefined && mayAskAgain) void comeByWindow();
  else leave(isToldWhy || !useApplication.getState().isThere ? detail : begunAnew);
}

const againMs = 5_000;

const begunAnew = 'svc was started again since, and no longer knows this page.';
