import type { ReactNode } from 'react';
import { create } from 'zustand';
import { Button } from '../../kit/button.tsx';
import { goToContent } from '../shell/going.ts';

/** Whether it is open where it stands above the content; beside it, it always is. */
const useFolding = create<{ readonly open: boolean }>(() => ({ open: false }));

/** What the classes `lg:` mean, in theme.css of Tailwind. */
const beside = '(min-width: 64rem)';

/** On a small screen, behind a button: the content is what is to be seen first. */
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

/** Somebody has chosen: where the outline stands above the content, it makes room for it. */
export function leaveOutline(): void {
  if (matchMedia(beside).matches) return;
  useFolding.setState({ open: false });
  goToContent();
}
