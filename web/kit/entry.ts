/**
 * Remembers the page's state for each entry of the browser's history: the scroll position, the
 * focused link, and values of its views. So Back restores them. The state is in memory only, until
 * the page closes or somebody signs in or out.
 */
import { useCallback, useState } from 'react';
import { useToken } from './token.ts';

type Entry = {
  scrollPx: number;
  focus: Focused | null;
  readonly kept: Map<string, unknown>;
};

/**
 * The focused link: its URL, its index among the links to that URL, and its position in the window.
 * null: no link had the focus.
 */
type Focused = { readonly href: string; readonly nth: number; readonly topPx: number };

/** Beyond this number, the oldest entry is removed. */
const entriesMax = 50;
/** The time limit for the data from svc after Back. */
const backWithinMs = 5_000;

const entries = new Map<string, Entry>();
let made = 0;
/** The entry that Back has opened, until its state is restored. */
let returning: Entry | null = null;

useToken.subscribe(() => entries.clear());

/** The state of a new history entry, which identifies it while the page is open. */
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
 * Like `useState`, but Back to this history entry restores the last value.
 * @param name of the value, unique within the entry
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

/** Creates a value once for a history entry; Back to the entry returns the same value. */
export function useKeptThing<T>(name: string, make: () => T): T {
  const [value] = useState(() => {
    const { kept } = entryOf(entryHere());
    if (!kept.has(name)) kept.set(name, make());
    return kept.get(name) as T;
  });
  return value;
}

/**
 * Records the page's state in its history entries. Call it once.
 * @returns a function that stops it
 */
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
    // If the view does not change, nothing calls `arriveAt`.
    setTimeout(() => void (returning === back && (returning = null)), backWithinMs);
  };
  // After a reload this state is gone, so the browser restores the position.
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
 * Called when another view is shown. After Back it restores the state as soon as the view's parts
 * are there; otherwise it scrolls to the top.
 * @returns a function that stops waiting for the parts
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
  // An action of the person ends the wait.
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
  // Content above the link may arrive later; then the browser keeps the link at its place.
  const offPx = link === null ? 0 : link.getBoundingClientRect().top - focus!.topPx;
  const wantedPx = link === null ? scrollPx : scrollY + offPx;
  if (room < wantedPx) return false;
  scrollTo(0, wantedPx);
  link?.focus({ preventScroll: true });
  return true;
}
