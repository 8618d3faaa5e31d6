/** The theme: light, dark, or the system's. The browser remembers it. */
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

/** Call it before the first paint. */
export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

function setTheme(theme: Theme): void {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // If the browser stores nothing, the theme lasts as long as the page.
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
