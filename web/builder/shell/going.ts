/** Goes to a place of the configuration and moves the focus there. */
import { useEffect } from 'react';
import { create } from 'zustand';
import { focusOn } from '../../kit/focus.ts';
import { goTo } from '../../kit/place.ts';
import { textOf, type Path } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { pageOf } from '../outline/tree.ts';

type Going = {
  /** Cards that a person opened or closed, by path. */
  readonly opened: Readonly<Record<string, boolean>>;
  /** The target of the focus; null when it has arrived, or without a target. */
  readonly target: Path | null;
};

export const useGoing = create<Going>(() => ({ opened: {}, target: null }));

/** The id of the element of a path in a form. */
export const idOf = (path: Path): string => `field-${textOf(path)}`;

/** The heading of the open tab; without a heading, the tab itself. */
export function headingOfView(): HTMLElement | null {
  return document.querySelector<HTMLElement>('#view h2') ?? document.getElementById('view');
}

/** Scrolls the open tab into view and focuses it. */
export function goToContent(): void {
  requestAnimationFrame(() => {
    focusOn(headingOfView());
    document.getElementById('view')?.scrollIntoView();
  });
}

/** Opens a tab and focuses its heading. */
export function goToView(view: string): void {
  goTo({ view });
  requestAnimationFrame(() => focusOn(headingOfView()));
}

/** Opens the form of a path and focuses its field. */
export function goToField(path: Path): void {
  useDraft.getState().select(pageOf(path, useDraft.getState().document));
  goTo({ view: 'form' });
  leadTo(path);
}

/** Focuses a field of the open form, and opens the cards around it. */
export function leadTo(path: Path): void {
  const around = path.map((_, at) => [textOf(path.slice(0, at + 1)), true] as const);
  useGoing.setState(({ opened }) => {
    return { target: path, opened: { ...opened, ...Object.fromEntries(around) } };
  });
}

export function setOpened(path: Path, open: boolean): void {
  useGoing.setState(({ opened }) => ({ opened: { ...opened, [textOf(path)]: open } }));
}

/** Two entries of a list change places, and so do their cards. */
export function swapOpened(one: Path, other: Path): void {
  const [from, to] = [textOf(one), textOf(other)];
  useGoing.setState(({ opened }) => {
    const rest = Object.entries(opened).map(([path, open]) => {
      const [around, next] = isAt(path, from) ? [from, to] : isAt(path, to) ? [to, from] : ['', ''];
      return [next + path.slice(around.length), open] as const;
    });
    return { opened: Object.fromEntries(rest) };
  });
}

const isAt = (path: string, around: string): boolean =>
  path === around || path.startsWith(`${around}.`);

const framesMax = 12;

/** Moves the focus to the target when the form shows it. The form uses it. */
export function useArrival(): void {
  const target = useGoing((state) => state.target);
  useEffect(() => {
    if (target === null) return undefined;
    let frames = 0;
    let asked = 0;
    const look = (): void => {
      const exact = document.getElementById(idOf(target));
      // The card around the field opens first, then the card inside it.
      if (exact === null && frames++ < framesMax) {
        asked = requestAnimationFrame(look);
        return;
      }
      const found = exact ?? nearestOf(target);
      found?.scrollIntoView({ block: 'center' });
      found?.focus({ preventScroll: true });
      useGoing.setState({ target: null });
    };
    asked = requestAnimationFrame(look);
    return () => cancelAnimationFrame(asked);
  }, [target]);
}

function nearestOf(path: Path): HTMLElement | null {
  for (let length = path.length - 1; length >= 0; length--) {
    const found = document.getElementById(idOf(path.slice(0, length)));
    if (found !== null) return found;
  }
  return null;
}
