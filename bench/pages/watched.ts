/** A page of a running service in Chromium, with its costs for the browser. */
import type { Browser, CDPSession, Page } from 'playwright-core';
import { watching } from '../../test/browser/watching.ts';

/** The page may load more after it has shown its content. */
const settlesMs = 3_000;

/** The times of the first paint and of the content, and the bytes sent until then. */
export type Opened = {
  readonly paintedMs: number;
  readonly shownMs: number;
  readonly kB: number;
  /** The longest task until then. */
  readonly longestMs: number;
};

/** Results of an interval: the longest task of the page, and its heap after garbage collection. */
export type Stretch = {
  readonly heapMB: number;
  readonly nodes: number;
  readonly longestMs: number;
};

export class Watched {
  readonly page: Page;
  readonly #devtools: CDPSession;

  private constructor(page: Page, devtools: CDPSession) {
    this.page = page;
    this.#devtools = devtools;
  }

  /** Opens it in a new context with an empty cache. @param shown visible when it is ready */
  static async open(
    browser: Browser,
    address: string,
    shown: RegExp,
  ): Promise<{ readonly watched: Watched; readonly opened: Opened }> {
    const context = await browser.newContext();
    await context.addInitScript(watching);
    await context.addInitScript(tasks);
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    let bytes = 0;
    devtools.on(
      'Network.dataReceived',
      ({ encodedDataLength }) => void (bytes += encodedDataLength),
    );
    await devtools.send('Network.enable');
    const startedAt = performance.now();
    await page.goto(address);
    await page.getByText(shown).first().waitFor();
    const shownMs = performance.now() - startedAt;
    const paintedMs = await page.evaluate<number>(
      'performance.getEntriesByName("first-contentful-paint")[0].startTime',
    );
    await new Promise((resolve) => setTimeout(resolve, settlesMs));
    const longestMs = await page.evaluate<number>(longestTask);
    return {
      watched: new Watched(page, devtools),
      opened: { paintedMs, shownMs, kB: bytes / 1e3, longestMs },
    };
  }

  /** Signs in by the button of the page's header. */
  async signIn(token: string): Promise<void> {
    const { page } = this;
    await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Administrator token').fill(token);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('banner').getByRole('button', { name: 'Sign out' }).waitFor();
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  /** The interval since the last call. */
  async stretch(): Promise<Stretch> {
    const longestMs = await this.page.evaluate<number>(longestTask);
    await this.#devtools.send('HeapProfiler.collectGarbage');
    await this.#devtools.send('Performance.enable');
    const { metrics } = await this.#devtools.send('Performance.getMetrics');
    const of = (name: string): number => metrics.find((one) => one.name === name)?.value ?? 0;
    return { heapMB: of('JSHeapUsedSize') / 1e6, nodes: of('Nodes'), longestMs };
  }
}

/** The longest task since the last call. */
const longestTask = 'globalThis.longestTask()';

/** Format: Long Tasks API, which leaves out tasks below 50 ms. */
const tasks = `(() => {
  let longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
  }).observe({ type: 'longtask', buffered: true });
  globalThis.longestTask = () => {
    const told = longest;
    longest = 0;
    return told;
  };
})();`;
