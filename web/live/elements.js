// @ts-check
/** Makes and fills elements, with text only. */

/** @param {string} id */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element ${id}`);
  return element;
}

/**
 * @param {string} tag
 * @param {{ class?: string, state?: string, alarm?: boolean, rank?: string, scope?: string }} how
 * @param {...(Node | string)} children
 */
export function make(tag, how, ...children) {
  const element = document.createElement(tag);
  if (how.class !== undefined) element.className = how.class;
  if (how.state !== undefined) element.dataset['state'] = how.state;
  if (how.alarm === true) element.dataset['alarm'] = 'yes';
  if (how.rank !== undefined) element.dataset['rank'] = how.rank;
  if (how.scope !== undefined) element.setAttribute('scope', how.scope);
  element.append(...children);
  return element;
}

/** Leaves what is the same alone, so that a screen reader does not say it again.
 * @param {string} id
 * @param {string} text */
export function setText(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

/** Leaves equal content in place: a selection in it, or a reader's place, is not lost.
 * @param {string} id
 * @param {HTMLElement[]} children */
export function fill(id, children) {
  const element = byId(id);
  const next = /** @type {HTMLElement} */ (element.cloneNode(false));
  next.append(...children);
  if (!element.isEqualNode(next)) element.replaceChildren(...next.childNodes);
}
