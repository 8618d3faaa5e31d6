/**
 * Keeps the person's place in the page's URL (`/ui?view=messages&channel=webhook`). So it can be
 * shared, works with Back and Forward, and survives a reload. It never holds text of people.
 */
import { useCallback, useSyncExternalStore } from 'react';
import { newEntry } from './entry.ts';

export type Place = Readonly<Record<string, string>>;

const changed = 'placechange';

export function usePlace(): Place {
  const search = useSyncExternalStore(listen, () => location.search);
  return Object.fromEntries(new URLSearchParams(search));
}

function listen(wake: () => void): () => void {
  addEventListener('popstate', wake);
  addEventListener(changed, wake);
  return () => {
    removeEventListener('popstate', wake);
    removeEventListener(changed, wake);
  };
}

/** The URL of a place of this page, without empty values. */
export function hrefOf(place: Place): string {
  const given = Object.entries(place).filter(([, value]) => value !== '');
  return given.length === 0 ? location.pathname : `?${new URLSearchParams(given).toString()}`;
}

/** Goes to a place. `replace` adds no entry to the history. */
export function goTo(place: Place, { replace = false } = {}): void {
  const href = hrefOf(place);
  if (replace) history.replaceState(history.state, '', href);
  else history.pushState(newEntry(), '', href);
  dispatchEvent(new Event(changed));
}

/** The props of an anchor that goes to a place without a reload. */
export function useLink(place: Place) {
  const href = hrefOf(place);
  const onClick = useCallback(
    (event: React.MouseEvent<HTMLAnchorElement>) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      goTo(Object.fromEntries(new URLSearchParams(href.replace(/^[^?]*\??/, ''))));
    },
    [href],
  );
  return { href, onClick };
}
