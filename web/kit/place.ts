/**
 * Where the person is, kept in the page's address (`/ui?view=messages&channel=webhook`), so that
 * it can be shared, goes back and forth, and survives a reload. It never holds what people wrote.
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

/** The address of a place of this page. Empty values are left out. */
export function hrefOf(place: Place): string {
  const given = Object.entries(place).filter(([, value]) => value !== '');
  return given.length === 0 ? location.pathname : `?${new URLSearchParams(given).toString()}`;
}

/** Goes to a place; `replace` leaves no step to go back to. */
export function goTo(place: Place, { replace = false } = {}): void {
  const href = hrefOf(place);
  if (replace) history.replaceState(history.state, '', href);
  else history.pushState(newEntry(), '', href);
  dispatchEvent(new Event(changed));
}

/** What an anchor needs in order to lead to a place without a reload. */
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
