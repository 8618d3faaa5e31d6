/**
 * Follows the service's events. EventSource cannot send a bearer, so this uses fetch and a parser.
 * States: connecting → open → lost → connecting …; paused while the page is hidden.
 */
import { headersFor, noteStatus, refusedWith } from './api.ts';
import { readEvents } from './events.ts';
import { noteReached } from './reached.ts';
import { bearerOf, useToken } from './token.ts';

export type LiveEvent = Readonly<Record<string, unknown>> & {
  readonly kind: string;
  readonly at: number;
};

export type StreamState = 'connecting' | 'open' | 'lost' | 'paused';

type Listener = {
  onLiveEvent(liveEvent: LiveEvent): void;
  onState(state: StreamState): void;
};

const pauseMs = { least: 1_000, most: 30_000 };

/** @returns a function that ends it */
export function follow(listener: Listener): () => void {
  const ending = new AbortController();
  void run(listener, ending.signal);
  return () => ending.abort();
}

async function run(listener: Listener, ended: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  let tries = 0;
  const note = (id: string): void => {
    lastId = id;
    tries = 0;
  };
  while (!ended.aborted) {
    if (document.hidden) {
      listener.onState('paused');
      await seen(ended);
      continue;
    }
    listener.onState('connecting');
    await once(listener, lastId, note, ended);
    if (ended.aborted || document.hidden) continue;
    listener.onState('lost');
    const most = Math.min(pauseMs.most, pauseMs.least * 2 ** tries++);
    await rest(most * (0.5 + Math.random() / 2), ended);
  }
}

/** One connection, until it breaks, the page is hidden, or the caller ends it. */
async function once(
  listener: Listener,
  lastId: string | null,
  note: (id: string) => void,
  ended: AbortSignal,
): Promise<void> {
  const closing = new AbortController();
  const close = (): void => closing.abort();
  const hide = (): void => void (document.hidden && closing.abort());
  ended.addEventListener('abort', close, { once: true });
  document.addEventListener('visibilitychange', hide);
  try {
    const bearer = bearerOf(useToken.getState());
    const headers = { ...headersFor(bearer), ...(lastId !== null && { 'last-event-id': lastId }) };
    const { signal } = closing;
    const response = await reach(() =>
      fetch('/api/v1/events', { headers, signal, credentials: 'same-origin' }),
    );
    if (!response.ok)
      return noteStatus(refusedWith(response.status, await response.text()), bearer);
    if (response.body === null) return;
    listener.onState('open');
    await readEvents(response.body, ({ id, data }) => {
      if (id !== undefined) note(id);
      const liveEvent = liveEventOf(data);
      if (liveEvent !== null) listener.onLiveEvent(liveEvent);
    });
  } catch {
    // The connection broke; the loop in `run` tries again.
  } finally {
    ended.removeEventListener('abort', close);
    document.removeEventListener('visibilitychange', hide);
    closing.abort();
  }
}

async function reach(open: () => Promise<Response>): Promise<Response> {
  try {
    const response = await open();
    noteReached(true);
    return response;
  } catch (error) {
    // An abort by this page says nothing about the service.
    if (!(error instanceof DOMException)) noteReached(false);
    throw error;
  }
}

function liveEventOf(data: string): LiveEvent | null {
  try {
    return JSON.parse(data) as LiveEvent;
  } catch {
    return null;
  }
}

function seen(ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      document.removeEventListener('visibilitychange', done);
      ended.removeEventListener('abort', done);
      resolve();
    };
    document.addEventListener('visibilitychange', done);
    ended.addEventListener('abort', done);
  });
}

function rest(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    ended.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
