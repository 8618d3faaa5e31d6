/**
 * The window of the application: a webview if it runs here, else a Chromium that shows one page,
 * else a tab of the person's browser. If the current window fails later, the next kind replaces it.
 * `kind`, `asksToClose` and `hasTray` then describe the new one.
 */
import { openerForUrl, openInBrowser } from '../../../src/lib/person-browser.ts';
import {
  windowKinds,
  type ApplicationWindow,
  type FromWindow,
  type ToWindow,
  type WindowKind,
} from '../desktop.ts';
import type { Connection, ConnectionHandlers } from '../lines.ts';
import { BrowserWindow, whyNoBrowser } from './browser-window.ts';
import { findChromium, type ChromiumProgram } from './chromium-program.ts';
import { ChromiumWindow } from './chromium-window.ts';
import { displayFault, windowEnvironment } from './display.ts';
import { webviewFacts, whyNoWebview, hasTrayHost } from './webview/library.ts';
import type { WindowOptions } from './window-options.ts';
import { refuse, WebviewWindow, type Hello } from './webview/webview-window.ts';

/** No permitted kind of window works here. */
export type NoWindow = { readonly kind: 'none'; readonly why: string };

export type OpeningWindow = {
  /**
   * Handles a connection to the shell's socket whose first line was this one. It may come at any
   * time: a window of an earlier shell may connect first. The returned handlers get the lines after
   * that, and the end of the connection.
   */
  connected(hello: Hello, connection: Connection<ToWindow>): ConnectionHandlers<FromWindow>;
  /** Resolves once the window can be shown. Never rejects. */
  readonly opened: Promise<ApplicationWindow | NoWindow>;
};

/** The caller disposes the opened window. */
export function openApplicationWindow(options: WindowOptions): OpeningWindow {
  const webview = new WebviewWindow(options, (url) => void openElsewhere(url, options));
  const mayBeWebview = options.wanted === null || options.wanted === 'webview';
  return {
    connected: (hello, connection) => {
      return mayBeWebview ? webview.connected(hello, connection) : refuse(connection);
    },
    opened: open(options, webview),
  };
}

async function open(
  options: WindowOptions,
  webview: WebviewWindow,
): Promise<ApplicationWindow | NoWindow> {
  const { env, wanted } = options;
  const chromium = findChromium(env);
  const { kinds, passedOver } = chooseWindow(wanted, await whetherHere(env, chromium));
  const make = (kind: WindowKind): ApplicationWindow => {
    if (kind === 'webview') return webview;
    return kind === 'chromium' && chromium !== null
      ? new ChromiumWindow(chromium, options)
      : new BrowserWindow(options);
  };
  const [first, ...others] = kinds.map((kind) => () => make(kind));
  if (first === undefined) return { kind: 'none', why: passedOver ?? 'There is no window.' };
  if (passedOver !== null) options.log(passedOver);
  const window = new FallbackWindow(first(), others, options.log);
  const why = await window.open(options);
  return why === null ? window : { kind: 'none', why };
}

/** Finds out for each kind of window whether it runs here, without opening it. */
export async function whetherHere(
  env: WindowOptions['env'],
  chromium: ChromiumProgram | null,
): Promise<Whether> {
  const noDisplay = (await displayFault(env)) === null ? null : 'there is no display';
  return {
    webview: noDisplay ?? whyNoWebview(webviewFacts()),
    chromium: noDisplay ?? (chromium === null ? 'no Chrome, Chromium or Edge is installed' : null),
    browser: whyNoBrowser(env),
  };
}

async function openElsewhere(url: string, { env, log }: WindowOptions): Promise<void> {
  const opener = openerForUrl(url, process.platform, env);
  const isOpened = opener !== null && (await openInBrowser(opener, windowEnvironment(env)));
  if (!isOpened) log('A page led elsewhere, and no browser could be opened for it.');
}

/** Uses the first window that works, and replaces a failed one with the next. */
class FallbackWindow implements ApplicationWindow {
  readonly #log: (line: string) => void;
  readonly #others: (() => ApplicationWindow)[];
  #current: ApplicationWindow;
  #origins: readonly string[] | null = null;
  #status: string | null = null;

  constructor(
    first: ApplicationWindow,
    others: readonly (() => ApplicationWindow)[],
    log: (line: string) => void,
  ) {
    this.#current = first;
    this.#others = [...others];
    this.#log = log;
  }

  get kind(): WindowKind {
    return this.#current.kind;
  }

  get asksToClose(): boolean {
    return this.#current.asksToClose;
  }

  get hasTray(): boolean {
    return this.#current.hasTray;
  }

  /**
   * Starts a webview early, so that it is ready when it is shown.
   * @returns null, or why no window can be shown
   */
  async open({ env, isHidden }: WindowOptions): Promise<string | null> {
    const current = this.#current;
    const isWanted = !isHidden || (await hasTrayHost(env));
    const why = current instanceof WebviewWindow && isWanted ? await current.open() : null;
    if (why !== null && !(await this.#replace(why))) return whyNot(current.kind, why);
    this.#log(`The window is ${windowNames[this.kind]}.`);
    return null;
  }

  async show(url: string): Promise<string | null> {
    for (;;) {
      const why = await this.#current.show(url);
      if (why === null || !(await this.#replace(why))) return why;
      this.#log(`The window is ${windowNames[this.kind]}.`);
    }
  }

  hide(): Promise<void> {
    return this.#current.hide();
  }

  status(text: string): void {
    this.#status = text;
    this.#current.status(text);
  }

  trust(origins: readonly string[]): void {
    this.#origins = origins;
    this.#current.trust(origins);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#current[Symbol.asyncDispose]();
  }

  /**
   * Replaces the current window.
   * @returns false: there is no other
   */
  async #replace(why: string): Promise<boolean> {
    const make = this.#others.shift();
    this.#log(whyNot(this.kind, why));
    if (make === undefined) return false;
    await this.#current[Symbol.asyncDispose]();
    this.#current = make();
    if (this.#origins !== null) this.#current.trust(this.#origins);
    if (this.#status !== null) this.#current.status(this.#status);
    return true;
  }
}

// Chooses the window: the first of three kinds that runs here, and why not an earlier one. Pure.

/** null: this kind probably runs here; else why not, as the words after "since". */
export type Whether = Readonly<Record<WindowKind, string | null>>;

type Choice = {
  /** In the order in which they are tried. */
  readonly kinds: readonly WindowKind[];
  /** A sentence on each kind that was passed over; null: none was. */
  readonly passedOver: string | null;
};

const windowNames = {
  webview: 'a window of its own',
  chromium: 'a window of Chromium',
  browser: "a tab of the person's browser",
} as const satisfies Record<WindowKind, string>;

/** @param wanted the kind that the person chose; then no other is used */
export function chooseWindow(wanted: WindowKind | null, whether: Whether): Choice {
  const asked = wanted === null ? windowKinds : [wanted];
  const kinds = asked.filter((kind) => whether[kind] === null);
  const first = kinds[0];
  const passed = asked.slice(0, first === undefined ? asked.length : asked.indexOf(first));
  const sentences = passed.map((kind) => whyNot(kind, whether[kind]!));
  return { kinds, passedOver: sentences.length === 0 ? null : sentences.join(' ') };
}

function whyNot(kind: WindowKind, why: string): string {
  return `It is not ${windowNames[kind]}, since ${why}.`;
}
