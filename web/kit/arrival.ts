/**
 * Signs a person in and out. A link holds a code behind its `#`: the page removes it from the URL
 * at once and exchanges it for a token. A window of the application hands over a token instead.
 * Otherwise a person types one (sign-in.tsx), and the tab keeps it until the sign-out. A token that
 * was handed over is in the memory of this page only.
 * States: entering → in or out; in → out after a sign-out, or when the service refuses a
 * handed-over token; in → entering when the page asks its window again; in → in when a typed token
 * has lapsed (token.ts) and the person types another.
 */
import { create } from 'zustand';
import type { SignedIn } from '../../apps/desktop/desktop.ts';
import { ask, onBearerRefused, type Refused } from './api.ts';
import { cameIn, useApplication } from './application.ts';
import { keepInTab, tokenOfTab, useToken } from './token.ts';

/**
 * `in`: a handed-over sign-in can come without a token, if the service is read-only. `out`: nobody
 * is signed in; `why` is a sentence, or null if there is nothing to explain.
 */
export type Arrival =
  | { readonly kind: 'entering' }
  | { readonly kind: 'in'; readonly how: 'handed' | 'typed' }
  | { readonly kind: 'out'; readonly why: string | null };

export const useArrival = create<{ readonly now: Arrival }>(() => ({
  now: { kind: 'out', why: null },
}));

const set = (now: Arrival): void => useArrival.setState({ now });

/** Signs in by the code in the URL, by the tab or by the window, and again for each new link. */
export function arrive(): void {
  addEventListener('hashchange', () => void comeByLink());
  onBearerRefused(putOut);
  if (comeByLink()) return;
  const token = globalThis.svcShell === undefined ? tokenOfTab() : null;
  if (token === null) void comeByWindow();
  else signInWith(token);
}

/** The function that a window of the application gives to the page. */
type Shell = { readonly signIn: () => Promise<SignedIn> };

declare global {
  // TypeScript requires `var` for a global that another program defines.
  var svcShell: Shell | undefined;
}

/**
 * The form of the codes of src/admin/http/sign-in.ts; any other text behind the `#` is a place
 * here.
 */
const codePattern = /^#[\w-]{22}$/;

/** @returns whether the URL held a code */
function comeByLink(): boolean {
  const { hash, pathname, search } = location;
  if (!codePattern.test(hash)) return false;
  history.replaceState(null, '', pathname + search);
  void trade(hash.slice(1));
  return true;
}

async function trade(code: string): Promise<void> {
  keepInTab(null);
  set({ kind: 'entering' });
  const answer = await ask<SignedIn>('sign-in', { method: 'POST', body: { code } });
  if (answer.kind === 'refused') leave(answer.detail);
  else takeOver(answer.value);
}

/** A window that does not answer within this time has lost its shell. */
const windowMs = 10_000;

/** Asks the application's window for a token, if the page is in one. */
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

/** Signs in with a typed token that svc has accepted. Windows of an application keep none. */
export function enterWith(token: string): void {
  const isOfApplication = globalThis.svcShell !== undefined || useApplication.getState().isThere;
  keepInTab(isOfApplication ? null : token);
  signInWith(token);
}

function signInWith(token: string): void {
  useToken.setState({ token, hasLapsed: false });
  set({ kind: 'in', how: 'typed' });
}

/** @param why a sentence for the person; null: they signed out themselves */
export function leave(why: string | null): void {
  keepInTab(null);
  useToken.setState({ token: null, hasLapsed: false });
  set({ kind: 'out', why });
}

/**
 * Called when the service refuses the token. After a typed token the page stays as it is until the
 * next sign-in.
 */
function putOut({ code, detail }: Refused, token: string): void {
  const { now } = useArrival.getState();
  const isOld = token !== useToken.getState().token;
  if (isOld || now.kind !== 'in') return;
  keepInTab(null);
  if (now.how === 'typed') return useToken.setState({ hasLapsed: true });
  const isToldWhy = code.startsWith('signed_out_');
  // After `signed_out_moved`, another page has the session: asking for it back would sign that page
  // out, and so on for ever. A token that was refused shortly after it was handed over would be
  // refused again.
  const mayAskAgain = code !== 'signed_out_moved' && performance.now() - handedAt > againMs;
  if (globalThis.svcShell !== undefined && mayAskAgain) void comeByWindow();
  else leave(isToldWhy || !useApplication.getState().isThere ? detail : begunAnew);
}

const againMs = 5_000;

const begunAnew = 'svc was started again since, and no longer knows this page.';
