/** Light, dark, or as the system says; remembered by the browser. */
import { useSyncExternalStore } from 'react';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'svc-theme';
const listeners = new Set<() => void>();

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore((wake) => {
    listeners.add(wake);
    return () => void listeners.delete(wake);
  }, readTheme);
  return [theme, setTheme];
}

/** To be called before the first paint. */
export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

function setTheme(theme: Theme): void {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // Where the browser keeps nothing, the theme lasts as long as the page is open.
  }
  applyTheme(theme);
  for (const wake of listeners) wake();
}

function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(key);
    return themes.find((theme) => theme === kept) ?? 'system';
  } catch {
    return 'system';
  }
}
