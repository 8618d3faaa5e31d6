/**
 * Checks whether there is a desktop application around the page, and whether the service still
 * answers. In the application it also asks in the background, since the service withdraws an unused
 * token.
 */
import { useEffect } from 'react';
import { create } from 'zustand';
import type { Status } from '../../src/admin/admin.ts';
import type { StorageBackend } from '../../src/domain/remedy.ts';
import type { ApplicationView } from '../../src/admin/application.ts';
import { ask } from './api.ts';
import { noteApplication, noteIsThere, useApplication } from './application.ts';
import { noteReached, useReached } from './reached.ts';
import { useToken } from './token.ts';

const everyMs = 5_000;
/** The interval while the service does not answer. */
const goneEveryMs = 500;
/** A service that is silent for this long has ended: on this machine a listener answers at once. */
const goneAfterMs = 1_000;

/** Whether the service has ended or cannot be reached. */
export const useGone = create<{ readonly isGone: boolean }>(() => ({ isGone: false }));

/** The storage backend of the service; null: not known. */
export const useStorage = create<{ readonly storage: StorageBackend | null }>(() => {
  return { storage: null };
});

/** The last known revision of the configuration in use; null: not known. */
export const useRevision = create<{ readonly revision: string | null }>(() => ({ revision: null }));

/** True: nobody can change svc, with any token. */
export const useReadOnly = create<{ readonly isReadOnly: boolean }>(() => {
  return { isReadOnly: false };
});

/**
 * Use it once in a page.
 * @param always for a page that sends no requests by itself: it then checks, also outside the
 *   application, whether the service answers and accepts the token
 */
export function useWatch(always = false): void {
  useEffect(() => {
    const over = new AbortController();
    void watch(over.signal, always);
    return () => over.abort();
  }, [always]);
}

async function watch(over: AbortSignal, always: boolean): Promise<void> {
  await askFirstStatus(over);
  while (!over.aborted) {
    if (useApplication.getState().isThere) await askApplication(over);
    else if (always && !document.hidden) await askStatus(over);
    const { goneSince } = useReached.getState();
    useGone.setState({ isGone: goneSince !== null && Date.now() - goneSince >= goneAfterMs });
    await rest(goneSince === null ? everyMs : goneEveryMs, over);
  }
}

async function askFirstStatus(signal: AbortSignal): Promise<void> {
  const answer = await ask<Pick<Status, 'application' | 'storage'>>('status', { signal });
  if (answer.kind === 'refused') return;
  noteIsThere(answer.value.application === true);
  useStorage.setState({ storage: answer.value.storage });
}

async function askApplication(signal: AbortSignal): Promise<void> {
  const { token } = useToken.getState();
  const answer = await ask<ApplicationView>('application', { signal });
  if (answer.kind === 'ok') noteApplication(answer.value, token !== null);
}

/** Reads the status, outside the application. A halted process accepts requests without answers. */
async function askStatus(signal: AbortSignal): Promise<void> {
  const asking = { signal, limitMs: everyMs };
  const answer = await ask<Pick<Status, 'access' | 'revision'>>('status', asking);
  if (answer.kind === 'ok') {
    const { access, revision } = answer.value;
    useReadOnly.setState({ isReadOnly: access === 'read_only' });
    useRevision.setState({ revision });
  } else if (answer.code === 'too_slow') noteReached(false);
}

/** Ends early if another request found that the service does not answer. */
function rest(ms: number, over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const leave = useReached.subscribe(({ goneSince }) => void (goneSince !== null && resolve()));
  over.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    leave();
  });
}
