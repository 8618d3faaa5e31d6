import { useCallback, useSyncExternalStore } from 'react';

/** Whether a media query matches now. */
export function useMedia(query: string): boolean {
  const listen = useCallback(
    (wake: () => void) => {
      const media = matchMedia(query);
      media.addEventListener('change', wake);
      return () => media.removeEventListener('change', wake);
    },
    [query],
  );
  return useSyncExternalStore(listen, () => matchMedia(query).matches);
}
