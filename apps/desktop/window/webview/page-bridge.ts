/**
 * `svcShell`, which the pages of a webview find in the place of a code to sign in with: the token
 * goes by the window's own channel into the memory of the page. Pure; a test runs the script.
 */
import type { SignedIn } from '../../desktop.ts';

/** Runs in each page before its own scripts. A page in a frame gets nothing. */
export const bridgeScript = `(() => {
  if (window !== window.top) return;
  const { ipc } = window;
  const post = ipc.postMessage.bind(ipc);
  const waiting = new Map();
  // No number of a page that was here before: its answer may come yet.
  let last = Math.floor(Math.random() * 2 ** 48);
  const signIn = () => new Promise((resolve) => {
    waiting.set(++last, resolve);
    post(JSON.stringify({ ask: 'signIn', id: last }));
  });
  const answered = (id, answer) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
  };
  const value = Object.freeze({ signIn, answered });
  Object.defineProperty(window, 'svcShell', { value });
})();`;

export type PageQuestion = { readonly ask: 'signIn'; readonly id: number };

/** @returns null: it is no question of that script */
export function parsePageQuestion(text: string): PageQuestion | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    const { ask, id } = value as { readonly ask?: unknown; readonly id?: unknown };
    return ask === 'signIn' && Number.isSafeInteger(id) ? { ask, id: id as number } : null;
  } catch {
    return null;
  }
}

/** A script that answers the page of this origin: one that came in its place gets nothing. */
export function answerScript(origin: string, id: number, { token, page }: SignedIn): string {
  const answer = JSON.stringify({ token, page });
  return `if (location.origin === ${JSON.stringify(origin)}) svcShell.answered(${id}, ${answer});`;
}
