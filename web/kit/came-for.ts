/** What somebody came for who opened a dialog: it has the focus, and the way out never does. */

const usable = ':not(:disabled):not([type="hidden"])';
const fields = `input${usable}, select${usable}, textarea${usable}`;
const buttons = `button${usable}, a[href]`;

/**
 * The first field; without one, what to press: what does no harm where something would be taken
 * away, else the one thing to do. Without either, the words.
 * @param content what a person reads and fills in
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

/** What is folded away can have no focus. */
function firstSeen(inside: HTMLElement | null, selector: string): HTMLElement | null {
  const found = inside?.querySelectorAll<HTMLElement>(selector) ?? [];
  return [...found].find((one) => one.checkVisibility()) ?? null;
}
