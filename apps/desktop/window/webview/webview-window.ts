/**
 * The shell's side of a webview. The webview is a process that connects to the shell's socket; an
 * earlier shell may have started it and left it behind.
 *
 * gone → begun → connected ⇄ lost → gone
 */
import { readFileSync } from 'node:fs';
import { makeFolderSync } from '../../../../src/lib/make-folder.ts';
import { ownProgram } from '../../../../src/lib/program.ts';
import type { ApplicationWindow, FromWindow, ToWindow } from '../../desktop.ts';
import type { Connection, ConnectionHandlers } from '../../lines.ts';
import { isForBrowser } from '../addresses.ts';
import { startChild, type ChildEnd, type WindowChild } from '../child.ts';
import { windowEnvironment } from '../display.ts';
import type { WindowOptions } from '../window-options.ts';
import { ordersVariable, pidFileOf, type WindowOrders } from './orders.ts';

export type Hello = Extract<FromWindow, { readonly kind: 'window' }>;

type Process = { readonly pid: number; readonly hasTray: boolean };

export type WebviewTimes = {
  /** How long a started process may take until it can be shown, on a busy machine. */
  readonly beginMs: number;
  /** How long a process of an earlier shell may take to connect to this one. */
  readonly reconnectMs: number;
  readonly endMs: number;
};

const webviewTimes: WebviewTimes = { beginMs: 20_000, reconnectMs: 2_000, endMs: 3_000 };

export class WebviewWindow implements ApplicationWindow {
  readonly kind = 'webview';
  readonly asksToClose = true;
  readonly #options: WindowOptions;
  readonly #times: WebviewTimes;
  readonly #openElsewhere: (url: string) => void;
  #origins: readonly string[];
  #status = '';
  #child: WindowChild | null = null;
  #process: Process | null = null;
  #connection: Connection<ToWindow> | null = null;
  /** True: this shell wants the process to end. */
  #isToEnd = false;
  #waiting = Promise.withResolvers<null>();
  #gone = Promise.withResolvers<void>();

  /** @param openElsewhere opens a web address in the person's browser */
  constructor(
    options: WindowOptions,
    openElsewhere: (url: string) => void,
    times: WebviewTimes = webviewTimes,
  ) {
    this.#options = options;
    this.#openElsewhere = openElsewhere;
    this.#times = times;
    this.#origins = [options.origin];
  }

  get hasTray(): boolean {
    return this.#process?.hasTray ?? false;
  }

  /** Handles the connection of a process that came by itself, or that this shell started. */
  connected(
    { pid, hasTray }: Hello,
    connection: Connection<ToWindow>,
  ): ConnectionHandlers<FromWindow> {
    if (this.#connection !== null && this.#process?.pid !== pid) return refuse(connection);
    const isNew = this.#process?.pid !== pid;
    if (isNew) this.#gone = Promise.withResolvers();
    this.#process = { pid, hasTray };
    this.#connection = connection;
    connection.send({ kind: 'origins', origins: this.#origins });
    if (this.#status !== '') connection.send({ kind: 'status', text: this.#status });
    this.#waiting.resolve(null);
    return {
      onMessage: (message) => this.#take(message, connection),
      onClose: () => {
        if (this.#connection !== connection) return;
        this.#connection = null;
        // For a child of this process, `#watch` sees the end itself, and how it ended.
        if (this.#child?.pid !== pid) this.#over(null);
      },
    };
  }

  /**
   * Starts the process, or finds one that already runs.
   * @returns null, or why there is none
   */
  async open(): Promise<string | null> {
    if (this.#connection !== null) return null;
    this.#waiting = Promise.withResolvers();
    const earlier = readPid(pidFileOf(this.#options.places));
    if (earlier !== null && this.#child === null && (await this.#within(this.#times.reconnectMs))) {
      return null;
    }
    const child = this.#child ?? this.#begin();
    const why = await Promise.race([
      this.#within(this.#times.beginMs).then((isThere) => {
        return isThere ? null : 'it did not come up in time';
      }),
      child.ended.then(whyEnded),
    ]);
    if (why !== null) await this.#drop(child);
    return why;
  }

  async show(url: string): Promise<string | null> {
    const why = await this.open();
    if (why !== null) return why;
    this.#connection?.send({ kind: 'open', url });
    return null;
  }

  async hide(): Promise<void> {
    if (this.#connection === null) return;
    if (this.hasTray) this.#connection.send({ kind: 'hide' });
    else await this.#end();
  }

  status(text: string): void {
    this.#status = text;
    this.#connection?.send({ kind: 'status', text });
  }

  trust(origins: readonly string[]): void {
    this.#origins = origins;
    this.#connection?.send({ kind: 'origins', origins });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  #begin(): WindowChild {
    const { env, places } = this.#options;
    makeFolderSync(places.runtime, 0o700);
    makeFolderSync(places.profile, 0o700);
    const orders: WindowOrders = {
      socket: places.socket,
      profile: `${places.profile}/webview`,
      pidFile: pidFileOf(places),
      origins: this.#origins,
    };
    const { file, args } = ownProgram('internal', 'window');
    this.#isToEnd = false;
    const child = startChild(file, args, {
      // Without this variable, some drivers show a white window:
      // https://bugs.webkit.org/show_bug.cgi?id=261874
      WEBKIT_DISABLE_DMABUF_RENDERER: '1',
      ...windowEnvironment(env),
      [ordersVariable]: JSON.stringify(orders),
    });
    this.#child = child;
    void this.#watch(child);
    return child;
  }

  async #watch(child: WindowChild): Promise<void> {
    const end = await child.ended;
    if (this.#child !== child) return;
    this.#child = null;
    if (child.pid === this.#process?.pid) this.#over(end.code === 0 ? null : whyEnded(end));
  }

  /** Whether a process connects within this time. */
  async #within(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<false>();
    const timer = setTimeout(() => resolve(false), ms);
    try {
      return (await Promise.race([this.#waiting.promise, promise])) === null;
    } finally {
      clearTimeout(timer);
    }
  }

  async #drop(child: WindowChild): Promise<void> {
    if (this.#child === child) this.#child = null;
    await child.end();
  }

  /** @param why null: the person or this process wanted the end */
  #over(why: string | null): void {
    this.#connection = null;
    this.#process = null;
    this.#gone.resolve();
    if (!this.#isToEnd) this.#options.events.onClosed(why);
  }

  async #end(): Promise<void> {
    this.#isToEnd = true;
    const child = this.#child;
    const pid = this.#process?.pid;
    this.#connection?.send({ kind: 'stop' });
    if (child !== null) return child.end();
    if (this.#connection === null || pid === undefined) return;
    const timer = setTimeout(() => kill(pid), this.#times.endMs);
    await this.#gone.promise;
    clearTimeout(timer);
  }

  #take(message: FromWindow, connection: Connection<ToWindow>): void {
    const { events } = this.#options;
    switch (message.kind) {
      case 'window':
        return;
      case 'sign_in':
        return void this.#signIn(message.question, connection);
      case 'loaded':
        return events.onLoaded(message.url);
      case 'unanswered':
        return events.onUnanswered(message.url);
      case 'closing':
        return events.onClosing();
      case 'tray':
        return events.onTray(message.chose);
      case 'elsewhere':
        return isForBrowser(message.url) ? this.#openElsewhere(message.url) : undefined;
      default:
        message satisfies never;
    }
  }

  async #signIn(question: number, connection: Connection<ToWindow>): Promise<void> {
    const signedIn = await this.#options.events.signIn();
    connection.send({ kind: 'signed_in', question, ...signedIn });
  }
}

/** Tells a second window process to end, since one window is enough. */
export function refuse(connection: Connection<ToWindow>): ConnectionHandlers<FromWindow> {
  connection.send({ kind: 'stop' });
  return { onMessage: () => {}, onClose: () => {} };
}

function whyEnded({ how, stderr }: Pick<ChildEnd, 'how' | 'stderr'>): string {
  return /^svc internal window: (.*)$/m.exec(stderr)?.[1] ?? `its process ${how}`;
}

/** @returns the id in the file, if that process lives; null: it does not */
function readPid(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch {
    return null;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}
