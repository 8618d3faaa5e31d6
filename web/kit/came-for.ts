/** Finds the element of a new dialog that gets the focus. The close button never does. */

const usable = ':not(:disabled):not([type="hidden"])';
const fields = `input${usable}, select${usable}, textarea${usable}`;
const buttons = `button${usable}, a[href]`;

/**
 * The first field; without one, the harmless button if an action deletes something, otherwise the
 * main one. Without either, the text.
 * @param content the text and fields of the dialog
 * @param actions the buttons below it; null: there are none
 */
export function cameFor(
  content: HTMLElement | null,
  actions: HTMLElement | null,
): HTMLElement | null {
  return firstSeen(content, fields) ?? toPress(actions) ?? firstSeen(content, buttons) ?? content;
}

function toPress(actions: HTMLElement | null): HTMLElement | null {
  const isHarm = actions?.querySelector('[data-kind="danger"]') != null;
  const main = isHarm ? null : firstSeen(actions, `[data-kind="main"]${usable}`);
  return main ?? firstSeen(actions, `button${usable}:not([data-kind="danger"])`);
}

/** A hidden element cannot have the focus. */
function firstSeen(inside: HTMLElement | null, selector: string): HTMLElement | null {
  const found = inside?.querySelectorAll<HTMLElement>(selector) ?? [];
  return [...found].find((one) => one.checkVisibility()) ?? null;
}
