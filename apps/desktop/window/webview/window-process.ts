/**
 * The process of a webview. It shows the pages that the shell names. It lives on after the shell
 * ends, and the next shell finds it. When the person closes the window, it stays open until the
 * shell decides; without a shell, the process ends.
 *
 * begun → ready, hidden → shown ⇄ hidden (with a tray) → ended
 */
import { rmSync, writeFileSync } from 'node:fs';
import type { Application, BrowserWindow, MenuOptions } from '@webviewjs/webview';
import type { FromWindow, SignedIn, ToWindow } from '../../desktop.ts';
import { keepConnected, type Link } from '../../lines.ts';
import { drawIcon, hasSharedLibrary, hasTrayHost, type WebviewLibrary } from './library.ts';
import type { WindowOrders } from './orders.ts';
import { View } from './view.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** How long a page waits for a shell to sign it in. */
const signInMs = 10_000;
const size = { width: 1_180, height: 800 };
const nobody: SignedIn = { token: null, page: null };
/** The webview's library loads one of these for a tray, and ends the process if none is there. */
const trayLibraries = ['libayatana-appindicator3.so.1', 'libappindicator3.so.1'];

/** @returns why the window ended; null: its end was wanted */
export async function runWindow(
  orders: WindowOrders,
  library: WebviewLibrary,
  { env, stop }: { readonly env: Env; readonly stop: AbortSignal },
): Promise<string | null> {
  writeFileSync(orders.pidFile, `${process.pid}\n`, { mode: 0o600 });
  const app = new library.Application();
  try {
    await app.whenReady();
    const withTray = await canHaveTray(env);
    using window = new WindowProcess(app, orders, withTray);
    stop.addEventListener('abort', () => window.end(null), { once: true });
    if (stop.aborted) window.end(null);
    return await window.ended;
  } finally {
    app.exit();
    rmSync(orders.pidFile, { force: true });
  }
}

async function canHaveTray(env: Env): Promise<boolean> {
  if (!(await hasTrayHost(env))) return false;
  return process.platform !== 'linux' || trayLibraries.some(hasSharedLibrary);
}

type Pending = { readonly answer: (signedIn: SignedIn) => void };

class WindowProcess {
  readonly #window: BrowserWindow;
  readonly #view: View;
  readonly #tray: Tray | null;
  readonly #link: Link<FromWindow>;
  readonly #ended = Promise.withResolvers<string | null>();
  readonly #pending = new Map<number, Pending>();
  #lastQuestion = 0;
  #isConnected = false;

  constructor(app: Application, orders: WindowOrders, withTray: boolean) {
    this.#window = app.createBrowserWindow({ title: 'svc', ...size, visible: false });
    const { data, width, height } = drawIcon();
    this.#window.setWindowIcon(data, width, height);
    const context = app.createWebContext({ dataDirectory: orders.profile });
    this.#view = new View(this.#window, context, orders.origins, {
      onLoaded: (url) => this.#link.send({ kind: 'loaded', url }),
      onUnanswered: (url) => this.#link.send({ kind: 'unanswered', url }),
      onElsewhere: (url) => this.#link.send({ kind: 'elsewhere', url }),
      onHopeless: () => this.end('the web engine ends again and again'),
      signIn: () => this.#signIn(),
    });
    this.#tray = withTray ? createTray(app, (chose) => this.#chose(chose)) : null;
    this.#window.on('close', (event) => {
      event.preventDefault();
      if (this.#isConnected) this.#link.send({ kind: 'closing' });
      else this.end(null);
    });
    this.#link = keepConnected<ToWindow, FromWindow>({
      path: orders.socket,
      onMessage: (message) => this.#take(message),
      onConnected: () => this.#greet(),
      onLost: () => (this.#isConnected = false),
    });
  }

  get ended(): Promise<string | null> {
    return this.#ended.promise;
  }

  end(why: string | null): void {
    this.#ended.resolve(why);
  }

  [Symbol.dispose](): void {
    this.#link[Symbol.dispose]();
    this.#view[Symbol.dispose]();
    for (const { answer } of this.#pending.values()) answer(nobody);
  }

  /** Repeats the questions that an earlier shell did not answer. */
  #greet(): readonly FromWindow[] {
    this.#isConnected = true;
    const hello = { kind: 'window', pid: process.pid, hasTray: this.#tray !== null } as const;
    const asked = [...this.#pending.keys()];
    return [hello, ...asked.map((question) => ({ kind: 'sign_in', question }) as const)];
  }

  #take(message: ToWindow): void {
    switch (message.kind) {
      case 'open':
        this.#view.open(message.url);
        return this.#show();
      case 'hide':
        return this.#tray === null ? this.end(null) : this.#window.hide();
      case 'signed_in':
        return this.#pending.get(message.question)?.answer(message);
      case 'status':
        return this.#tray?.status(message.text);
      case 'origins':
        return this.#view.trust(message.origins);
      case 'stop':
        return this.end(null);
      default:
        message satisfies never;
    }
  }

  #show(): void {
    this.#window.show();
    if (this.#window.isMinimized()) this.#window.setMinimized(false);
    this.#window.focus();
  }

  /** Shows the current page at once; without a shell, there is no other page to show. */
  #chose(chose: 'open' | 'quit'): void {
    if (chose === 'open') this.#show();
    else if (!this.#isConnected) return this.end(null);
    this.#link.send({ kind: 'tray', chose });
  }

  #signIn(): Promise<SignedIn> {
    const question = ++this.#lastQuestion;
    const { promise, resolve } = Promise.withResolvers<SignedIn>();
    const timer = setTimeout(() => resolve(nobody), signInMs);
    this.#pending.set(question, { answer: ({ token, page }) => resolve({ token, page }) });
    this.#link.send({ kind: 'sign_in', question });
    return promise.finally(() => {
      clearTimeout(timer);
      this.#pending.delete(question);
    });
  }
}

/** The tray of a webview: open, a status line, quit. */
type Tray = { status(text: string): void };

/** @param chose called each time that the person chooses */
function createTray(app: Application, chose: (what: 'open' | 'quit') => void): Tray {
  const tray = app.createTrayIcon({
    id: 'svc',
    icon: drawIcon(),
    tooltip: 'svc',
    menu: menuWith(''),
    menuOnLeftClick: process.platform !== 'win32',
  });
  tray.on('click', ({ button }) => {
    if (process.platform === 'win32' && button === 'Left') chose('open');
  });
  app.on('custom-menu-click', ({ customMenuEvent }) => {
    const id = customMenuEvent?.id;
    if (id === 'open' || id === 'quit') chose(id);
  });
  let shown = '';
  return {
    status: (text) => {
      if (text === shown) return;
      shown = text;
      tray.setMenu(menuWith(text));
    },
  };
}

function menuWith(status: string): MenuOptions {
  const told = status === '' ? [] : [{ id: 'status', label: status, enabled: false }];
  return {
    items: [{ id: 'open', label: 'Open svc' }, ...told, { id: 'quit', label: 'Quit svc' }],
  };
}
