/**
 * The page's knowledge of the desktop application around the service, if there is one. The
 * application owns the window of the page, and has a page of its own, which also works without the
 * service. The tab remembers that there is an application, so that a reloaded page gives the right
 * advice. The rest is in memory only.
 */
import { create } from 'zustand';
import type { ApplicationView } from '../../src/admin/application.ts';
import type { SignedIn } from '../../apps/desktop/desktop.ts';
import { ask } from './api.ts';

type Application = {
  readonly isThere: boolean;
  /** True: the service says that a process is there which can show a window. */
  readonly hasShell: boolean;
  /** The URL of the application's own page; null: not known. */
  readonly page: string | null;
  /** True: the configuration has no admin block, so nobody can change anything. */
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
    // The browser stores nothing: the page asks the service instead.
  }
}

export const useApplication = create<Application>(() => {
  return { isThere: isRemembered(), hasShell: true, page: null, isReadOnly: false };
});

/** Notes that a person signed in through the application. */
export function cameIn({ token, page }: SignedIn): void {
  const own = ownPage(page);
  const isThere = own !== null || useApplication.getState().isThere;
  if (isThere) remember(true);
  useApplication.setState({ isThere, hasShell: true, page: own, isReadOnly: token === null });
}

/** Notes the service's answer whether there is an application. */
export function noteIsThere(isThere: boolean): void {
  remember(isThere);
  useApplication.setState({ isThere });
}

/**
 * Notes the service's answer about the application. Only a signed-in person gets the URL of its
 * page.
 */
export function noteApplication({ shell, page }: ApplicationView, isSignedIn: boolean): void {
  const { page: before } = useApplication.getState();
  const known = isSignedIn ? ownPage(page) : before;
  useApplication.setState({ hasShell: shell, page: shell ? known : null });
}

/**
 * The URL to wait at for svc. The application's own page explains why svc is not there, and goes to
 * svc's pages once it is. See apps/desktop/page/page-server.ts.
 */
export const wayOn = (page: string): string => `${page}?waited`;

/** Accepts only a page of this machine. */
function ownPage(page: string | null): string | null {
  if (page === null || !URL.canParse(page)) return null;
  const { protocol, hostname } = new URL(page);
  return protocol === 'http:' && hostname === '127.0.0.1' ? page : null;
}

/** @returns a sentence that says why no window comes; null: it comes */
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
