/**
 * The web page in a webview's window. It decides which addresses the page may show and sign in, and
 * shows the page again if its engine has ended or nobody answered.
 */
import type { BrowserWindow, Webview, WebContext } from '@webviewjs/webview';
import type { SignedIn } from '../../desktop.ts';
import { wayOf } from '../addresses.ts';

export type ViewEvents = {
  readonly onLoaded: (url: string) => void;
  readonly onUnanswered: (url: string) => void;
  readonly onElsewhere: (url: string) => void;
  /** The web engine ends again and again. */
  readonly onHopeless: () => void;
  readonly signIn: () => Promise<SignedIn>;
};

/** How long a page waits whose origin the shell has not announced yet. */
const originWaitMs = 1_000;
/** The time until the next try of a page that nobody answered. */
const againMs = 1_000;
const pingMs = 2_000;
/** If two pages are opened one after the other, the second may appear this much later. */
const lateMs = 500;

const blank = 'about:blank';
/** Shown in place of a page that nobody answers for. */
const unansweredPage = `<!doctype html><html lang="en" id="unanswered">
<meta charset="utf-8"><title>svc</title>
<meta name="color-scheme" content="light dark">
<style>body{font:16px system-ui,sans-serif;max-width:34em;margin:20vh auto;padding:0 1em}</style>
<h1>svc does not answer</h1><p>It is tried again every second.</p></html>`;

/** A script that returns the address of the shown page, or `unanswered` for the page above. */
const shownAddress = `document.documentElement.id === 'unanswered' ? 'unanswered' : location.href`;

/**
 * A script that makes every pixel count as changed. Without it, WebKitGTK without its DMABUF
 * renderer went on showing the live view after the shell's page had been loaded, until the window
 * was resized.
 */
const paintAnew =
  `{ const { style } = document.documentElement; style.opacity = '0.999'; ` +
  `requestAnimationFrame(() => requestAnimationFrame(() => { style.opacity = ''; })); }`;

export class View {
  readonly #window: BrowserWindow;
  readonly #context: WebContext;
  readonly #events: ViewEvents;
  readonly #watch: EngineWatch;
  #view: Webview;
  #origins: readonly string[];
  /** The address of the last navigation. */
  #leading: string | null = null;
  #opened: string | null = null;
  /** The number of `open` calls, to recognise results that are out of date. */
  #opens = 0;
  #again: NodeJS.Timeout | undefined;
  #held: { readonly url: string; readonly timer: NodeJS.Timeout } | null = null;

  constructor(
    window: BrowserWindow,
    context: WebContext,
    origins: readonly string[],
    events: ViewEvents,
    times?: WatchTimes,
  ) {
    this.#window = window;
    this.#context = context;
    this.#origins = origins;
    this.#events = events;
    this.#view = this.#create();
    const engine = {
      ping: () => this.#ping(),
      renew: (was: 'silent' | 'gone') => this.#renew(was),
      hopeless: events.onHopeless,
    };
    this.#watch = new EngineWatch(engine, times);
  }

  open(url: string): void {
    this.#forget();
    this.#leading = url;
    this.#opened = url;
    this.#opens++;
    this.#view.loadUrl(url);
  }

  /** Sets the only origins that the page shows from now on. */
  trust(origins: readonly string[]): void {
    this.#origins = origins;
    const url = this.#held?.url;
    if (url === undefined || wayOf(url, origins) !== 'here') return;
    this.open(url);
  }

  [Symbol.dispose](): void {
    this.#forget();
    this.#watch[Symbol.dispose]();
  }

  #create(): Webview {
    const view = this.#window.createWebview({
      webContext: this.#context,
      preload: bridgeScript,
      hotkeysZoom: true,
      clipboard: true,
      navigationHandler: (url) => this.#mayGo(url),
      newWindowHandler: ({ url = '' }) => {
        // Permitted addresses open in this window. `navigationHandler` has already handled the
        // others.
        if (wayOf(url, this.#origins) === 'here') setImmediate(() => this.open(url));
        return false;
      },
    });
    view.onIpcMessage(({ body, uri }) => void this.#answerPage(view, body.toString(), uri));
    view.on('page-load-finished', ({ url = blank }) => void this.#loaded(view, url));
    view.on('title-changed', ({ title = '' }) => this.#window.setTitle(title || 'svc'));
    return view;
  }

  #mayGo(url: string): boolean {
    const way = wayOf(url, this.#origins);
    if (way === 'here' && url !== blank) this.#leading = url;
    if (way === 'elsewhere') this.#events.onElsewhere(url);
    if (way === 'wait') this.#hold(url);
    return way === 'here';
  }

  /**
   * Delays a page whose origin the shell may announce in the next moment. After `originWaitMs`, it
   * counts as another program of this machine, and goes to the browser.
   */
  #hold(url: string): void {
    this.#forget();
    const timer = setTimeout(() => {
      this.#held = null;
      this.#events.onElsewhere(url);
    }, originWaitMs);
    this.#held = { url, timer };
  }

  #forget(): void {
    clearTimeout(this.#again);
    clearTimeout(this.#held?.timer);
    this.#held = null;
  }

  /**
   * An error page of the engine reports the address that failed, while its own address is another
   * one. The end of any page may also report the address of a page that was opened meanwhile.
   */
  async #loaded(view: Webview, url: string): Promise<void> {
    if (view !== this.#view || url === blank) return;
    this.#watch.loaded();
    const opens = this.#opens;
    const shown = await this.#evaluate(shownAddress);
    if (view !== this.#view || typeof shown !== 'string') return;
    if (this.#isPage(shown)) {
      view.evaluateScript(paintAnew);
      this.#checkLater(url === this.#opened && shown !== url);
      return this.#events.onLoaded(url);
    }
    const leading = this.#leading;
    if (leading === null || opens !== this.#opens) return;
    if (shown === 'unanswered') return this.#checkLater(false);
    view.loadHtml(unansweredPage);
    this.#tryAgain(leading);
  }

  #isPage(shown: string): boolean {
    return wayOf(shown, this.#origins) === 'here' && shown !== blank;
  }

  /**
   * WebKitGTK drops a page that is opened at the moment when the page before it appears, and the
   * former page may appear after the new one. So this checks again later.
   * @param isOther the shown page is not the opened one
   */
  #checkLater(isOther: boolean): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => void this.#checkAgain(isOther), lateMs);
  }

  async #checkAgain(isOther: boolean): Promise<void> {
    const opens = this.#opens;
    const opened = this.#opened;
    const leading = this.#leading;
    const shown = await this.#evaluate(shownAddress);
    if (opens !== this.#opens || typeof shown !== 'string') return;
    if (!this.#isPage(shown)) {
      if (leading !== null) this.#tryAgain(leading);
    } else if (isOther && opened !== null && shown !== opened) this.#tryAgain(opened);
  }

  #tryAgain(url: string): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.open(url), againMs);
    this.#events.onUnanswered(url);
  }

  async #answerPage(view: Webview, text: string, uri: string): Promise<void> {
    const question = parsePageQuestion(text);
    const origin = URL.parse(uri)?.origin ?? '';
    if (question === null || !this.#origins.includes(origin)) return;
    const answer = await this.#events.signIn();
    if (view.isDisposed() || !this.#origins.includes(origin)) return;
    view.evaluateScript(answerScript(origin, question.id, answer));
  }

  async #ping(): Promise<PingResult> {
    const result = await this.#evaluate('1 + 1');
    if (result === null) return 'silent';
    // An engine that is gone returns no result, and does so at once.
    return result === 2 ? 'alive' : 'gone';
  }

  /** @returns null: no answer in time; undefined: there is no engine */
  #evaluate(script: string): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => resolve(null), pingMs);
    this.#view.evaluateScriptWithCallback(script, (error: Error | null, result: string) => {
      clearTimeout(timer);
      resolve(error === null && result !== '' ? (JSON.parse(result) as unknown) : undefined);
    });
    return promise;
  }

  #renew(was: 'silent' | 'gone'): void {
    if (was === 'gone') return this.#view.reload();
    const url = this.#view.url() ?? this.#leading;
    this.#view.dispose();
    this.#view = this.#create();
    if (url !== null) this.open(url);
  }
}

// Watches whether the web engine of a window still answers. The engine is a separate process, and
// no event reports its end: the page stays on the screen, or goes white. So the watch pings it, and
// loads the page again:
//
// answers → silent, three times → renewed;  gone → renewed at once;  renewed too often → hopeless

/** `gone`: the engine's process has ended. `silent`: no answer came in time. */
export type PingResult = 'alive' | 'silent' | 'gone';

type Engine = {
  ping(): Promise<PingResult>;
  /** Loads the shown page again, in a new process of the engine. */
  renew(was: 'silent' | 'gone'): void;
  hopeless(): void;
};

export type WatchTimes = { readonly everyMs: number; readonly forgetMs: number };

const silentMax = 3;
/** The most renewals within `forgetMs`. */
const renewalsMax = 3;

export class EngineWatch {
  readonly #engine: Engine;
  readonly #times: WatchTimes;
  readonly #timer: NodeJS.Timeout;
  #isLoaded = false;
  #isPinging = false;
  #silent = 0;
  #renewedAt: number[] = [];

  constructor(engine: Engine, times: WatchTimes = { everyMs: 5_000, forgetMs: 60_000 }) {
    this.#engine = engine;
    this.#times = times;
    this.#timer = setInterval(() => void this.#check(), times.everyMs);
  }

  /** Called when a page is loaded. Before the first page, an engine does not answer. */
  loaded(): void {
    this.#isLoaded = true;
    this.#silent = 0;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    if (!this.#isLoaded || this.#isPinging) return;
    this.#isPinging = true;
    const result = await this.#engine.ping();
    this.#isPinging = false;
    if (result === 'alive') this.#silent = 0;
    else if (result === 'gone' || ++this.#silent >= silentMax) this.#renew(result);
  }

  #renew(was: 'silent' | 'gone'): void {
    const now = performance.now();
    this.#renewedAt = this.#renewedAt.filter((at) => now - at < this.#times.forgetMs);
    if (this.#renewedAt.length >= renewalsMax) {
      this[Symbol.dispose]();
      return this.#engine.hopeless();
    }
    this.#renewedAt.push(now);
    this.#isLoaded = false;
    this.#silent = 0;
    this.#engine.renew(was);
  }
}

// `svcShell`: pages of a webview use it in place of a sign-in code. The token goes through the
// window's own channel into the memory of the page. Pure; a test runs the script.

/** Runs in each page before its own scripts. A page in a frame gets nothing. */
export const bridgeScript = `(() => {
  if (window !== window.top) return;
  const { ipc } = window;
  const post = ipc.postMessage.bind(ipc);
  const waiting = new Map();
  // No number of a page that was here before: its answer may come yet.
  let last = Math.floor(Math.random() * 2 ** 48);
  const signIn = () => new Promise((resolve) => {
    waiting.set(++last, resolve);
    post(JSON.stringify({ ask: 'signIn', id: last }));
  });
  const answered = (id, answer) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
  };
  const value = Object.freeze({ signIn, answered });
  Object.defineProperty(window, 'svcShell', { value });
})();`;

type PageQuestion = { readonly ask: 'signIn'; readonly id: number };

/** @returns null: the text is no question of that script */
export function parsePageQuestion(text: string): PageQuestion | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    const { ask, id } = value as { readonly ask?: unknown; readonly id?: unknown };
    return ask === 'signIn' && Number.isSafeInteger(id) ? { ask, id: id as number } : null;
  } catch {
    return null;
  }
}

/** A script that answers the page of this origin. A page that replaced it gets nothing. */
export function answerScript(origin: string, id: number, { token, page }: SignedIn): string {
  const answer = JSON.stringify({ token, page });
  return `if (location.origin === ${JSON.stringify(origin)}) svcShell.answered(${id}, ${answer});`;
}
