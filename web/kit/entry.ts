/**
 * What a person had before them, for each entry of the browser's history: how far the page was
 * scrolled, which link had the focus, and what its views keep. So Back leads to the same. It is in
 * memory alone, for as long as the page is open and nobody signs in or out.
 */
import { useCallback, useState } from 'react';
import { useToken } from './token.ts';

type Entry = {
  scrollPx: number;
  focus: Focused | null;
  readonly kept: Map<string, unknown>;
};

/**
 * The address of the link with the focus, which of those with it, and where in the window it stood;
 * null: none had it.
 */
type Focused = { readonly href: string; readonly nth: number; readonly topPx: number };

/** Of the oldest nothing is kept. */
const entriesMax = 50;
/** What is read from svc is there by then, or does not come. */
const backWithinMs = 5_000;

const entries = new Map<string, Entry>();
let made = 0;
/** Where Back has led to, until it is as it was. */
let returning: Entry | null = null;

useToken.subscribe(() => entries.clear());

/** The state of a new entry, by which it is known for as long as the page is open. */
export function newEntry(): { readonly entry: string } {
  made++;
  return { entry: `${performance.timeOrigin} ${made}` };
}

function entryHere(): string {
  const state = history.state as { readonly entry?: unknown } | null;
  return typeof state?.entry === 'string' ? state.entry : '';
}

function entryOf(key: string): Entry {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const entry: Entry = { scrollPx: 0, focus: null, kept: new Map() };
  entries.set(key, entry);
  const [oldest] = entries.keys();
  if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
  return entry;
}

/**
 * Like `useState`; Back to this entry of the history begins with the value that it had last.
 * @param name of the value among all of the entry
 */
export function useKept<T>(name: string, initial: T): readonly [T, (value: T) => void] {
  const [key] = useState(entryHere);
  const [value, setValue] = useState(() => {
    const { kept } = entryOf(key);
    return kept.has(name) ? (kept.get(name) as T) : initial;
  });
  const set = useCallback(
    (next: T) => {
      entryOf(key).kept.set(name, next);
      setValue(next);
    },
    [key, name],
  );
  return [value, set];
}

/** Made once for an entry of the history, and there again when Back leads to it. */
export function useKeptThing<T>(name: string, make: () => T): T {
  const [value] = useState(() => {
    const { kept } = entryOf(entryHere());
    if (!kept.has(name)) kept.set(name, make());
    return kept.get(name) as T;
  });
  return value;
}

/** Notes what the person has before them; to be called once. @returns what ends it */
export function followEntries(): () => void {
  history.scrollRestoration = 'manual';
  const onScroll = (): void => {
    if (returning !== null) return;
    const entry = entryOf(entryHere());
    entry.scrollPx = scrollY;
    if (entry.focus !== null) entry.focus = focusAt(document.activeElement);
  };
  const onFocus = ({ target }: FocusEvent): void => {
    if (returning !== null || !(target instanceof Element)) return;
    entryOf(entryHere()).focus = focusAt(target);
  };
  const onBack = (): void => {
    const back = entries.get(entryHere()) ?? null;
    returning = back;
    // Where the view stays the same nobody arrives.
    setTimeout(() => void (returning === back && (returning = null)), backWithinMs);
  };
  // A reload knows nothing of what is here: the browser goes back to where the page was.
  const onLeave = (): void => void (history.scrollRestoration = 'auto');
  addEventListener('pagehide', onLeave);
  addEventListener('scroll', onScroll, { passive: true });
  addEventListener('focusin', onFocus);
  addEventListener('popstate', onBack, { capture: true });
  return () => {
    removeEventListener('pagehide', onLeave);
    removeEventListener('scroll', onScroll);
    removeEventListener('focusin', onFocus);
    removeEventListener('popstate', onBack, { capture: true });
  };
}

function focusAt(target: Element | null): Focused | null {
  const href = target?.closest('a')?.getAttribute('href') ?? null;
  if (target === null || href === null || target.closest('main') === null) return null;
  const nth = linksTo(href).indexOf(target as HTMLAnchorElement);
  return { href, nth, topPx: target.getBoundingClientRect().top };
}

function linksTo(href: string): HTMLAnchorElement[] {
  const links = document.querySelectorAll<HTMLAnchorElement>('main a');
  return [...links].filter((link) => link.getAttribute('href') === href);
}

/**
 * A view was gone to: by Back it becomes what it was as soon as its parts are there, otherwise it
 * is read from its top.
 * @returns what gives up waiting for them
 */
export function arriveAt(main: HTMLElement | null): () => void {
  const back = returning;
  main?.focus({ preventScroll: true });
  if (back === null) {
    scrollTo(0, 0);
    return () => undefined;
  }
  const changes = new MutationObserver(() => {
    if (isAsItWas(back)) end();
  });
  const ending = new AbortController();
  const end = (): void => {
    changes.disconnect();
    ending.abort();
    clearTimeout(timer);
    if (returning === back) returning = null;
  };
  const timer = setTimeout(end, backWithinMs);
  // A person who does something meanwhile is where they want to be.
  for (const what of ['pointerdown', 'keydown', 'wheel']) {
    addEventListener(what, end, { signal: ending.signal, capture: true, passive: true });
  }
  changes.observe(document.body, { childList: true, subtree: true });
  if (isAsItWas(back)) end();
  return end;
}

function isAsItWas({ scrollPx, focus }: Entry): boolean {
  const link = focus === null ? null : linksTo(focus.href)[Math.max(0, focus.nth)];
  if (link === undefined) return false;
  const room = document.documentElement.scrollHeight - innerHeight;
  // What stands above the link may come later; the browser then keeps the link where it is.
  const offPx = link === null ? 0 : link.getBoundingClientRect().top - focus!.topPx;
  const wantedPx = link === null ? scrollPx : scrollY + offPx;
  if (room < wantedPx) return false;
  scrollTo(0, wantedPx);
  link?.focus({ preventScroll: true });
  return true;
}
