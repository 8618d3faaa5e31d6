/** Which window it is: the first of three that runs here, and why not another. Pure. */
import { windowKinds, type WindowKind } from '../desktop.ts';

/** null: as far as can be told beforehand, it runs here; else why not, after "since". */
export type Whether = Readonly<Record<WindowKind, string | null>>;

export type Choice = {
  /** In the order in which they are tried. */
  readonly kinds: readonly WindowKind[];
  /** A sentence on what was passed over; null: nothing was. */
  readonly told: string | null;
};

export const windowNames = {
  webview: 'a window of its own',
  chromium: 'a window of Chromium',
  browser: "a tab of the person's browser",
} as const satisfies Record<WindowKind, string>;

/** @param wanted the one that the person named: then no other is taken */
export function chooseWindow(wanted: WindowKind | null, whether: Whether): Choice {
  const asked = wanted === null ? windowKinds : [wanted];
  const kinds = asked.filter((kind) => whether[kind] === null);
  const first = kinds[0];
  const passed = asked.slice(0, first === undefined ? asked.length : asked.indexOf(first));
  const told = passed.map((kind) => whyNot(kind, whether[kind]!));
  return { kinds, told: told.length === 0 ? null : told.join(' ') };
}

export function whyNot(kind: WindowKind, why: string): string {
  return `It is not ${windowNames[kind]}, since ${why}.`;
}
