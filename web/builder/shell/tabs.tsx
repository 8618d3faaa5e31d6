/** The tabs of the builder, and the one that is open. */
import { useRef, type KeyboardEvent } from 'react';
import { goTo, usePlace } from '../../kit/place.ts';
import { views } from './views.ts';

/** The tab in the URL, by default the first one. */
export function useView() {
  const { view } = usePlace();
  return views.find(({ name }) => name === view) ?? views[0];
}

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };

/** The views of the draft as tabs; arrow keys move between them. */
export function Tabs() {
  const current = useView();
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = views.indexOf(current);
    const ends: Readonly<Record<string, number>> = { Home: 0, End: views.length - 1 };
    const step = steps[event.key];
    const to = step === undefined ? ends[event.key] : (at + step + views.length) % views.length;
    if (to === undefined) return;
    event.preventDefault();
    goTo({ view: views[to]!.name });
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[to]?.focus();
  };
  return (
    <div ref={list} role="tablist" aria-label="Views" tabIndex={-1} onKeyDown={onKeyDown}>
      {views.map(({ name, title }) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          aria-controls="view"
          aria-selected={name === current.name}
          tabIndex={name === current.name ? 0 : -1}
          onClick={() => goTo({ view: name })}
          className="min-h-9 border-b-2 border-transparent px-3 text-soft hover:text-ink aria-selected:border-accent aria-selected:font-medium aria-selected:text-ink forced-colors:border-[ButtonFace] forced-colors:aria-selected:border-[Highlight]"
        >
          {title}
        </button>
      ))}
    </div>
  );
}
