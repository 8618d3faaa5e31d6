/** The rules of axe, held to a page as it is now. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The small form: every page reads all of it. */
const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** They take most of the time of a look, and alone differ between the colour schemes. */
const rulesOfColour = ['color-contrast', 'link-in-text-block'];

/**
 * Looks of text that were measured and found good in this run. What looks the same is not looked at
 * again: pages are of the same parts. What axe leaves out, or cannot tell, is not among them.
 */
const good = new Set<string>();

/**
 * Runs in a page: the elements with a text of their own, by how they look: colour and size of the
 * letters, and whatever colours lie behind them, up to the root.
 */
const byLook = `((part) => {
  const behind = new Map();
  const colours = (one) => {
    if (one === null) return '';
    if (!behind.has(one)) {
      const { backgroundColor, backgroundImage, opacity, filter, position } = getComputedStyle(one);
      // One that is laid over others may be over any colour.
      const over = position === 'static' || position === 'relative' ? '' : position;
      const own = [backgroundColor, backgroundImage, opacity, filter, over].join(' ');
      behind.set(one, own + '|' + colours(one.parentElement));
    }
    return behind.get(one);
  };
  const ofLetters = (one) => {
    const { color, fontSize, fontWeight, textShadow, textDecorationLine } = getComputedStyle(one);
    return [color, fontSize, fontWeight, textShadow, textDecorationLine].join(' ');
  };
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const hasText = (one) =>
    one.matches('input, select, textarea') ||
    [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== '');
  const found = new Map();
  for (const one of [part, ...part.querySelectorAll('*')].filter(hasText).filter(isSeen)) {
    const around = one.localName === 'a' ? ofLetters(one.parentElement) : '';
    const look = [ofLetters(one), around, colours(one)].join('|');
    found.set(look, [...(found.get(look) ?? []), one]);
  }
  return found;
})`;

/** Of what axe says: a sentence for each breach, and the looks that it measured and found good. */
const saidBy = `(({ violations, passes, incomplete }) => {
  const elements = (of) => of.flatMap(({ nodes }) => nodes.map(({ element }) => element));
  const measured = new Set(elements(passes.filter(({ id }) => id === 'color-contrast')));
  const others = new Set(elements([...violations, ...incomplete]));
  const isGood = ([, all]) =>
    all.some((one) => measured.has(one)) && !all.some((one) => others.has(one));
  return {
    told: violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, any }) =>
        id + ' (' + help + '): ' + target.join(' ') + ' ' + any.map((one) => one.message).join())),
    found: [...(globalThis.svcLooks ?? [])].filter(isGood).map(([look]) => look),
  };
})`;

type Said = { readonly told: readonly string[]; readonly found: readonly string[] };

/**
 * @param inside a selector: only that part of the page
 * @returns breaches of all rules but those of colour, a sentence each
 */
export async function breachesOfForm(page: Page, inside: string): Promise<readonly string[]> {
  const rules = Object.fromEntries(rulesOfColour.map((name) => [name, { enabled: false }]));
  const part = JSON.stringify({ include: [inside] });
  return (await lookBy(page, part, { rules, resultTypes: ['violations'] })).told;
}

/** Those of the rules of colour, in the colour scheme that the page has now. */
export async function breachesOfColour(page: Page, inside: string): Promise<readonly string[]> {
  const part = `document.querySelector(${JSON.stringify(inside)})`;
  const looks = await page.evaluate<string[]>(
    `[...(globalThis.svcLooks = ${byLook}(${part})).keys()]`,
  );
  const unknown = looks.filter((one) => !good.has(one));
  if (unknown.length === 0) return [];
  const { told, found } = await lookBy(page, `{ include: ${elementsOf(unknown)} }`, {
    runOnly: { type: 'rule', values: rulesOfColour },
    resultTypes: ['violations', 'passes', 'incomplete'],
    elementRef: true,
  });
  for (const one of found) good.add(one);
  return told;
}

const elementsOf = (looks: readonly string[]): string =>
  `${JSON.stringify(looks)}.flatMap((one) => globalThis.svcLooks.get(one))`;

async function lookBy(page: Page, part: string, options: axe.RunOptions): Promise<Said> {
  // It stays in a document that it was brought into.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(source);
  return page.evaluate<Said>(`axe.run(${part}, ${JSON.stringify(options)}).then(${saidBy})`);
}
