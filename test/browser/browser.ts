/**
 * Tests in a real browser: one Chromium for a test file, a fresh context for each view. A view
 * fails its test when a page does one of three things: it logs an error or throws, breaches its
 * content security policy, or sends a request outside its own origin.
 *
 * Give `waitForFunction` a function, `() => …` as text. The policy of a page lets only the first
 * poll evaluate an expression.
 *
 * Copy live-view.browser.ts for a new test. `npm run browser` runs all of them.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from 'playwright-core';
import { canRun } from '../../src/lib/executable.ts';
import { patienceMs, until } from '../support/waiting.ts';
import { breachesOfColour, breachesOfForm } from './accessible.ts';
import { smallTargets } from './small-targets.ts';
import { watching } from './watching.ts';

const pictures = join(import.meta.dirname, '../../.tmp/pictures');

const named = process.env['SVC_CHROMIUM'];
/** The headless shell comes first: it has no windows, so a view costs a fifth. */
const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const program = named ?? programs.find(canRun) ?? programs[1]!;
const missing = named === undefined && !canRun(program) && notThere();

function notThere(): string {
  return `there is no ${program}: install chromium, or name one in SVC_CHROMIUM`;
}

let skipped = 0;
process.on('exit', () => {
  if (skipped === 0) return;
  console.error(`NOT TESTED: ${skipped} tests of pages were skipped: ${notThere()}.`);
});

const running = new Set<string>();
const counts = { all: 0, done: 0, failed: 0 };

/** Names the tests of pages that run now, for people. */
export function underWay(): string {
  const { all, done, failed } = counts;
  const faults = failed === 0 ? '' : `, ${failed} of them failed`;
  return `${done} of ${all} tests of pages are done${faults}; now: ${[...running].join('; ')}`;
}

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Keeps all requests of the pages on this machine.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost',
];

let launched: Promise<Browser> | null = null;
after(async () => {
  await (await launched)?.close();
});

function browser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: program, args: flags, timeout: patienceMs });
  return launched;
}

/** Presses Enter on the button of this name, once it is enabled: a press would not wait. */
export async function pressOn(where: Page | Locator, name: string | RegExp): Promise<void> {
  const button = where.getByRole('button', { name, disabled: false });
  // A navigation may still move the focus, and the key would go there.
  await until(`the focus to stay on ${String(name)}`, () =>
    button.evaluate(async (element) => {
      const { ownerDocument: page } = element;
      const frame = () => new Promise((next) => page.defaultView?.requestAnimationFrame(next));
      element.focus();
      await frame();
      await frame();
      return page.activeElement === element;
    }),
  );
  await button.page().keyboard.press('Enter');
}

/** Chromium's console errors for requests to a service that has ended. */
export const noAnswer = /Failed to load resource: net::ERR_/;

/** The server of the pages; `origin` is `http://127.0.0.1:<port>`, the only allowed origin. */
export type Site = AsyncDisposable & { readonly origin: string };

export type Stage<S> = {
  readonly site: S;
  /** Opens another browser for another person: two views share nothing. */
  readonly open: (options?: BrowserContextOptions) => Promise<View>;
};

/**
 * A test with a browser. Without one it is skipped, with a note on stderr.
 * @param start makes the site; it closes after the views, so that no page loses its server
 */
export function browserTest<S extends Site>(
  name: string,
  start: () => Promise<S>,
  body: (stage: Stage<S>) => Promise<void>,
): void {
  if (missing === false) counts.all++;
  else skipped++;
  test(name, { skip: missing }, async () => {
    running.add(name);
    try {
      await tryPage(name, start, body);
    } catch (error) {
      counts.failed++;
      throw error;
    } finally {
      running.delete(name);
      counts.done++;
    }
  });
}

async function tryPage<S extends Site>(
  name: string,
  start: () => Promise<S>,
  body: (stage: Stage<S>) => Promise<void>,
): Promise<void> {
  await using site = await start();
  const views: View[] = [];
  const open = async (options?: BrowserContextOptions): Promise<View> => {
    const view = await openView(site.origin, options);
    views.push(view);
    return view;
  };
  try {
    await body({ site, open });
    for (const view of views) await view.expectedCame();
  } catch (error) {
    throw await withFaults(error, name, views);
  } finally {
    for (const { context } of views) await context.close();
  }
  for (const view of views) view.assertClean();
}

/** Adds the faults of the test's pages, and the paths of their pictures, to its error. */
async function withFaults(cause: unknown, name: string, views: readonly View[]): Promise<Error> {
  const lines = [cause instanceof Error ? cause.message : String(cause)];
  for (const [index, view] of views.entries()) {
    lines.push(`${view.page.url()} ${await pictureOf(view, `failed ${name} ${index}`)}`);
    lines.push(...view.faults);
  }
  return new Error(lines.join('\n'), { cause });
}

async function pictureOf(view: View, name: string): Promise<string> {
  try {
    return `is pictured in ${await view.picture(name)}`;
  } catch (error) {
    return `could not be pictured: ${String(error)}`;
  }
}

async function openView(origin: string, options: BrowserContextOptions = {}): Promise<View> {
  const chromiumHere = await browser();
  const context = await chromiumHere.newContext({
    baseURL: origin,
    locale: 'en-GB',
    timezoneId: 'UTC',
    // axe would measure colours in the middle of an animation.
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(patienceMs);
  await context.addInitScript(watching);
  return new View(origin, context, await context.newPage());
}

/** One person at one browser: a context with a page, and all its faults. */
export class View {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly #faults: string[] = [];
  readonly #expected: RegExp[] = [];
  readonly #allowed: RegExp[] = [];

  constructor(origin: string, context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    context.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'assert') return;
      const { url, lineNumber } = message.location();
      this.#faults.push(`console: ${message.text()} (${url}:${lineNumber})`);
    });
    context.on('weberror', (thrown) => void this.#faults.push(`thrown: ${String(thrown.error())}`));
    context.on('request', (request) => this.#left(origin, request.url()));
    page.on('crash', () => void this.#faults.push('the page crashed'));
    page.on('websocket', (socket) => this.#left(origin, socket.url()));
  }

  #left(origin: string, url: string): void {
    const { protocol, host } = new URL(url);
    const isInside = protocol === 'data:' || protocol === 'blob:' || protocol === 'about:';
    if (!isInside && host !== new URL(origin).host) this.#faults.push(`left its origin: ${url}`);
  }

  /** Waits until a fault matches, expected or not. */
  async faulted(pattern: RegExp): Promise<void> {
    await until(`a fault like ${pattern}`, () => this.#faults.some((one) => pattern.test(one)));
  }

  /** Waits for all expected faults, which Chromium may report late. */
  async expectedCame(): Promise<void> {
    for (const pattern of this.#expected) await this.faulted(pattern);
  }

  /** The faults so far, except the expected ones. */
  get faults(): readonly string[] {
    const known = [...this.#expected, ...this.#allowed];
    return this.#faults.filter((fault) => !known.some((one) => one.test(fault)));
  }

  /** From now on this is no fault, and must occur: Chromium writes each 401 to the console. */
  expectFault(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  /** From now on this is no fault, and may occur: it depends on timing. */
  allowFault(pattern: RegExp): void {
    this.#allowed.push(pattern);
  }

  /** Fails the test over faults. Call it only to know earlier than at the end. */
  assertClean(): void {
    assert.deepEqual(this.faults, [], 'the page did what no page may');
    for (const pattern of this.#expected) {
      assert.ok(
        this.#faults.some((fault) => pattern.test(fault)),
        `${pattern} was expected: ${this.#faults.join('; ')}`,
      );
    }
  }

  /**
   * Checks the page, as it is now, against every rule of axe, in light and in dark.
   * @param inside a selector: only that part of the page
   */
  async assertAccessible(inside = ':root'): Promise<void> {
    assert.deepEqual(await breachesOfForm(this.page, inside), [], this.page.url());
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      const told = await breachesOfColour(this.page, inside);
      assert.deepEqual(told, [], `in ${colorScheme}, at ${this.page.url()}`);
    }
    await this.page.emulateMedia({ colorScheme: null });
  }

  /**
   * No content is wider than the window, so nobody scrolls sideways to read.
   * Rule: WCAG 2.2, 1.4.10; at 320 CSS pixels, so at the 360 of a small telephone.
   */
  async assertFits(): Promise<void> {
    const [content, window] = await this.page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    assert.ok(content <= window, `the page is ${content} wide in a window of ${window}`);
  }

  /**
   * Every control is large enough for a finger, except links in a sentence.
   * Rule: WCAG 2.2, 2.5.8.
   */
  async assertTargets(): Promise<void> {
    assert.deepEqual(await this.page.evaluate<string[]>(smallTargets), [], this.page.url());
  }

  /** Saves a picture of the whole page in `.tmp/pictures`. @returns its path */
  async picture(name: string): Promise<string> {
    mkdirSync(pictures, { recursive: true });
    const path = join(pictures, `${name.replaceAll(/[^\w-]+/g, '-').slice(0, 100)}.png`);
    await this.page.screenshot({ path, fullPage: true });
    return path;
  }
}
