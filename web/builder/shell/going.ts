/** Leading a person to a place of the configuration, and the focus with them. */
import { useEffect } from 'react';
import { create } from 'zustand';
import { focusOn } from '../../kit/focus.ts';
import { goTo } from '../../kit/place.ts';
import { textOf, type Path } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { pageOf } from '../outline/tree.ts';

type Going = {
  /** Cards that a person opened or closed, by their place. */
  readonly opened: Readonly<Record<string, boolean>>;
  /** Where the focus is to go; null when it is there, or has nowhere to go. */
  readonly target: Path | null;
};

export const useGoing = create<Going>(() => ({ opened: {}, target: null }));

/** The id of the element that shows a place in a form. */
export const idOf = (path: Path): string => `field-${textOf(path)}`;

/** The heading of the tab that is shown; the tab itself where it has no heading. */
export function headingOfView(): HTMLElement | null {
  return document.querySelector<HTMLElement>('#view h2') ?? document.getElementById('view');
}

/** Brings what is shown in the tab into view, and the focus to it. */
export function goToContent(): void {
  requestAnimationFrame(() => {
    focusOn(headingOfView());
    document.getElementById('view')?.scrollIntoView();
  });
}

/** Opens a tab, and puts the focus on its heading. */
export function goToView(view: string): void {
  goTo({ view });
  requestAnimationFrame(() => focusOn(headingOfView()));
}

/** Opens the form of a place, and puts the focus on its field. */
export function goToField(path: Path): void {
  useDraft.getState().select(pageOf(path, useDraft.getState().document));
  goTo({ view: 'form' });
  leadTo(path);
}

/** Puts the focus on a field of the form that is shown, and opens the cards around it. */
export function leadTo(path: Path): void {
  const around = path.map((_, at) => [textOf(path.slice(0, at + 1)), true] as const);
  useGoing.setState(({ opened }) => {
    return { target: path, opened: { ...opened, ...Object.fromEntries(around) } };
  });
}

export function setOpened(path: Path, open: boolean): void {
  useGoing.setState(({ opened }) => ({ opened: { ...opened, [textOf(path)]: open } }));
}

const framesMax = 12;

/** To be used by the form: moves the focus when somebody is led here. */
export function useArrival(): void {
  const target = useGoing((state) => state.target);
  useEffect(() => {
    if (target === null) return undefined;
    let frames = 0;
    let asked = 0;
    const look = (): void => {
      const exact = document.getElementById(idOf(target));
      // The card around the field opens first, and then what is inside that card.
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
