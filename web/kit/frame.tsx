import { useEffect, useRef, type ReactNode } from 'react';
import { Link } from './link.tsx';
import type { Place } from './place.ts';
import { ThemeSwitch } from './theme-switch.tsx';
import { useKeptFocus } from './use-kept-focus.ts';

export type View = { readonly name: string; readonly title: string; readonly place: Place };

type Props = {
  readonly title: string;
  readonly views: readonly View[];
  readonly current: string;
  /** Beside the theme: sign in, sign out. */
  readonly aside?: ReactNode;
  readonly children: ReactNode;
};

/** So many views and what is beside them have room in one row, where the window is wide. */
const viewsBeside = 9;

const rowOf = (views: number): string =>
  views > viewsBeside ? 'order-last basis-full' : 'max-[88rem]:order-last max-[88rem]:basis-full';

/** What surrounds every view: the way to the others, and a way past it for the keyboard. */
export function Frame({ title, views, current, aside, children }: Props) {
  const nav = useRef<HTMLElement>(null);
  useKeptFocus();
  // Where the views have too little room, they scroll to the current one.
  useEffect(() => {
    const place = nav.current?.querySelector('[aria-current="page"]');
    place?.scrollIntoView({ block: 'nearest', inline: 'center' });
    // The attribute follows it.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [current]);
  return (
    <div className="mx-auto flex min-h-screen max-w-[90rem] flex-col">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:bg-card focus:p-2"
      >
        Skip to the content
      </a>
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-2">
        <h1 className="text-lg">{title}</h1>
        <nav
          ref={nav}
          aria-label="Views"
          className={`flex min-w-0 flex-1 gap-0.5 overflow-x-auto p-1 text-sm ${rowOf(views.length)}`}
        >
          {views.map(({ name, title: label, place }) => (
            <Link
              key={name}
              to={place}
              current={name === current}
              className="shrink-0 rounded-md px-2 py-1 text-ink no-underline hover:bg-raised aria-[current=page]:bg-accent-ground aria-[current=page]:font-medium forced-colors:aria-[current=page]:underline"
            >
              {label}
            </Link>
          ))}
        </nav>
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          {aside}
          <ThemeSwitch />
        </div>
      </header>
      <main id="main" tabIndex={-1} className="flex flex-1 flex-col gap-6 px-4 py-4 outline-none">
        {children}
      </main>
    </div>
  );
}
