import type { ReactNode } from 'react';
import { ThemeSwitch } from './theme-switch.tsx';
import { useKeptFocus } from './use-kept-focus.ts';

type Props = {
  readonly title: string;
  readonly navigation: ReactNode;
  /** Beside the content on wide screens. */
  readonly side: ReactNode;
  /** Beside the theme switch: sign in, sign out. */
  readonly aside?: ReactNode;
  readonly children: ReactNode;
};

const icon = new URL('./icon.svg', import.meta.url).href;

/** The frame around every view: the navigation, and a link that skips it. */
export function PageFrame({ title, navigation, side, aside, children }: Props) {
  useKeptFocus();
  return (
    <div className="mx-auto flex min-h-screen max-w-[100rem] flex-col">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:bg-card focus:p-2"
      >
        Skip to the content
      </a>
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-2">
        <h1 className="flex items-center gap-2 text-lg">
          <img src={icon} alt="" className="size-6" />
          {title}
        </h1>
        {navigation}
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          {aside}
          <ThemeSwitch />
        </div>
      </header>
      <div className="flex flex-1">
        {side}
        <main
          id="main"
          tabIndex={-1}
          className="flex min-w-0 flex-1 flex-col gap-6 px-4 py-4 outline-none"
        >
          {children}
        </main>
      </div>
    </div>
  );
}
