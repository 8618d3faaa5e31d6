/** Opens and closes the outline on small screens. */
import type { ReactNode } from 'react';
import { create } from 'zustand';
import { Button } from '../../kit/button.tsx';
import { goToContent } from '../shell/going.ts';

/** Whether the outline is open above the content. Beside the content it is always open. */
const useFolding = create<{ readonly open: boolean }>(() => ({ open: false }));

/** The width of the `lg:` classes, from theme.css of Tailwind. */
const beside = '(min-width: 64rem)';

/** On a small screen the outline is behind a button, so that the content comes first. */
export function Folding({ children }: { readonly children: ReactNode }) {
  const open = useFolding((state) => state.open);
  return (
    <>
      <Button
        small
        aria-expanded={open}
        aria-controls="outline"
        onClick={() => useFolding.setState({ open: !open })}
        className="self-start lg:hidden"
      >
        Outline
      </Button>
      <div
        id="outline"
        className={`min-h-0 flex-1 flex-col max-lg:pt-2 lg:flex ${open ? 'flex' : 'hidden'}`}
      >
        {children}
      </div>
    </>
  );
}

export function searchOutline(): void {
  useFolding.setState({ open: true });
  requestAnimationFrame(() => document.getElementById('outline-search')?.focus());
}

/** Closes an outline above the content after a choice, to make space for the content. */
export function leaveOutline(): void {
  if (matchMedia(beside).matches) return;
  useFolding.setState({ open: false });
  goToContent();
}
