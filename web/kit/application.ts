/**
 * What this page knows of the application around the service, where there is one: the window that
 * shows the page belongs to it, and it has a page of its own, which is there when the service is
 * not. A tab remembers that there is one, so that a page that is loaded again says what helps
 * there; the rest is kept in memory alone.
 */
import { create } from 'zustand';
import type { ApplicationView } from '../../src/admin/application.ts';
import type { SignedIn } from '../../apps/desktop/desktop.ts';
import { ask } from './api.ts';

type Application = {
  readonly isThere: boolean;
  /** Somebody is there who can show a window; as far as the service knows. */
  readonly hasShell: boolean;
  /** The address of its own page; null: nobody has told this page. */
  readonly page: string | null;
  /** Whoever is signed in may look alone: the configuration has no admin block. */
  readonly isReadOnly: boolean;
};

const remembered = 'svc-application';

function isRemembered(): boolean {
  try {
    return sessionStorage.getItem(remembered) !== null;
  } catch {
    return false;
  }
}

function remember(isThere: boolean): void {
  try {
    if (isThere) sessionStorage.setItem(remembered, 'yes');
    else sessionStorage.removeItem(remembered);
  } catch {
    // A browser that keeps nothing: the page asks the service instead.
  }
}

export const useApplication = create<Application>(() => {
  return { isThere: isRemembered(), hasShell: true, page: null, isReadOnly: false };
});

/** Somebody came in by the application. */
export function cameIn({ token, page }: SignedIn): void {
  const own = ownPage(page);
  const isThere = own !== null || useApplication.getState().isThere;
  if (isThere) remember(true);
  useApplication.setState({ isThere, hasShell: true, page: own, isReadOnly: token === null });
}

/** The service says whether there is one. */
export function noteIsThere(isThere: boolean): void {
  remember(isThere);
  useApplication.setState({ isThere });
}

/** What the service says of it now; its page is told to those alone who are signed in. */
export function noteApplication({ shell, page }: ApplicationView, isSignedIn: boolean): void {
  const { page: before } = useApplication.getState();
  const known = isSignedIn ? ownPage(page) : before;
  useApplication.setState({ hasShell: shell, page: shell ? known : null });
}

/**
 * Where somebody is led who waits for svc: by the application's own page, which says why where svc
 * is not there, to its pages as soon as it is. See apps/desktop/page/page-server.ts.
 */
export const wayOn = (page: string): string => `${page}?waited`;

/** Only a page of this machine is led to. */
function ownPage(page: string | null): string | null {
  if (page === null || !URL.canParse(page)) return null;
  const { protocol, hostname } = new URL(page);
  return protocol === 'http:' && hostname === '127.0.0.1' ? page : null;
}

/** @returns why the window does not come, as a sentence; null: it comes */
export async function askForWindow(): Promise<string | null> {
  const answer = await ask<null>('sign-in/ask', { method: 'POST', body: {} });
  if (answer.kind === 'ok') return null;
  switch (answer.status) {
    case 429:
      return 'It was asked for a moment ago. Wait a few seconds, and press again.';
    case 404:
    case 503:
      return 'The application is not there now. Start svc again, as you started it before.';
    default:
      return answer.detail;
  }
}
