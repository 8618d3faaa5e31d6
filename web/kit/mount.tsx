import { StrictMode, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { applyTheme } from './theme.ts';

/** Renders the page into the element of index.html. */
export function mount(page: ReactNode): void {
  applyTheme();
  const place = document.getElementById('page');
  if (place === null) throw new Error('index.html has no place for the page');
  createRoot(place).render(<StrictMode>{page}</StrictMode>);
}
