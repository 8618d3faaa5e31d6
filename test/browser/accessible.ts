/** Checks a page, as it is now, against the rules of axe. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The minified file, half as long as `axe.source`: every checked document parses it again. */
const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** These rules take most of the time, and alone differ between the colour schemes. */
const rulesOfColour = ['color-contrast', 'link-in-text-block'];

/**
 * Styles of text that axe measured in this run and found good. Texts of the same style need no
 * second check, since pages share their parts. Styles that axe skips or cannot judge are not among
 * them.
 */
const good = new Set<string>();

/**
 * Runs in a page: groups the elements with text by style. A style is the colour and size of the
 * letters, and all colours behind them, up to the root.
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

/** Converts axe's result to a sentence for each breach, and the styles that it found good. */
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
 * @returns breaches of all rules except those of colour, a sentence each
 */
export async function breachesOfForm(page: Page, inside: string): Promise<readonly string[]> {
  const rules = Object.fromEntries(rulesOfColour.map((name) => [name, { enabled: false }]));
  const part = JSON.stringify({ include: [inside] });
  return (await lookBy(page, part, { rules, resultTypes: ['violations'] })).told;
}

/** The breaches of the rules of colour, in the page's present colour scheme. */
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
  // It is large, and stays in a document once it is there.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axeSource);
  return page.evaluate<Said>(`axe.run(${part}, ${JSON.stringify(options)}).then(${saidBy})`);
}
