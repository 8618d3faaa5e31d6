/**
 * A Chromium that shows one page, with its own profile. It does not ask before it closes. It lives
 * on if the shell is killed; a page that is shown after that opens a second window in it.
 */
import { readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeFolderSync } from '../../../src/lib/make-folder.ts';
import { isProcessAliveWith } from '../../../src/lib/holders.ts';
import type { ApplicationWindow } from '../desktop.ts';
import { openSocket } from '../lines.ts';
import { startChild, type ChildEnd, type WindowChild } from './child.ts';
import type { ChromiumProgram } from './chromium-program.ts';
import { windowEnvironment } from './display.ts';
import { Redirects } from './redirect.ts';
import type { WindowOptions } from './window-options.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type ChromiumTimes = {
  /** A Chromium that cannot show anything ends within this time. */
  readonly failsMs: number;
  /** The interval of the checks whether another shell's Chromium has ended. */
  readonly checkMs: number;
};

const chromiumTimes: ChromiumTimes = { failsMs: 3_000, checkMs: 500 };

/**
 * @param address the address of the page, or of a file that redirects to it
 * @param origin serves as the proxy for every address that is not of this machine, and refuses
 */
export function chromiumArguments(
  address: string,
  profile: string,
  origin: string,
): readonly string[] {
  return [
    `--app=${address}`,
    `--user-data-dir=${profile}`,
    '--no-first-run',
    '--no-default-browser-check',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-quic',
    `--proxy-server=${origin}`,
    // By default, every name of this machine would bypass the proxy.
    '--proxy-bypass-list=<-loopback>;127.0.0.1',
    '--class=svc',
    '--window-size=1180,800',
  ];
}

/**
 * The folder of the profile. A snap cannot read the folders where an application keeps its files.
 */
export function chromiumProfile({ isSnap }: ChromiumProgram, profile: string, env: Env): string {
  if (!isSnap) return join(profile, 'chromium');
  return join(env['HOME'] || homedir(), 'snap', 'chromium', 'common', 'svc-window');
}

export class ChromiumWindow implements ApplicationWindow {
  readonly kind = 'chromium';
  readonly asksToClose = false;
  readonly hasTray = false;
  readonly #program: ChromiumProgram;
  readonly #options: WindowOptions;
  readonly #times: ChromiumTimes;
  readonly #profile: string;
  readonly #redirects: Redirects;
  /** The children that have not ended. The first has the window; the others hand over to it. */
  readonly #children = new Set<WindowChild>();
  #otherWatch: NodeJS.Timeout | null = null;
  #isToEnd = false;

  constructor(
    program: ChromiumProgram,
    options: WindowOptions,
    times: ChromiumTimes = chromiumTimes,
  ) {
    this.#program = program;
    this.#options = options;
    this.#times = times;
    this.#profile = chromiumProfile(program, options.places.profile, options.env);
    this.#redirects = new Redirects(options.places.runtime);
  }

  async show(url: string): Promise<string | null> {
    const { env, origin } = this.#options;
    const fault = makeProfile(this.#profile);
    if (fault !== null) return fault;
    const address = this.#program.isSnap ? url : this.#redirects.addressTo(url);
    const args = chromiumArguments(address, this.#profile, origin);
    this.#isToEnd = false;
    const child = startChild(this.#program.file, args, windowEnvironment(env));
    this.#children.add(child);
    const { promise: waited, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(() => resolve(null), this.#times.failsMs);
    const early = await Promise.race([child.ended, waited]);
    clearTimeout(timer);
    if (early === null) {
      void child.ended.then((end) => this.#over(child, end));
      return null;
    }
    this.#children.delete(child);
    if (early.code !== 0) return `Chromium ${early.how}`;
    // It handed over to a Chromium that already runs, or the person closed it at once.
    if (holderOf(this.#profile) !== null) this.#watchOther();
    else setImmediate(() => this.#over(child, early));
    return null;
  }

  async hide(): Promise<void> {
    this.#isToEnd = true;
    this.#forgetOther();
    const other = holderOf(this.#profile);
    const ended = [...this.#children].map((child) => child.end());
    if (ended.length === 0 && other !== null && (await isAnswered(this.#profile))) signal(other);
    await Promise.all(ended);
  }

  status(): void {}

  /** Does nothing: the proxy restricts it to this machine, wherever the page leads. */
  trust(): void {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hide();
    this.#redirects[Symbol.dispose]();
  }

  #over(child: WindowChild, { code, how }: ChildEnd): void {
    this.#children.delete(child);
    if (this.#isToEnd) return;
    // It handed over, but the machine is so busy that this took longer than `failsMs`.
    if (code === 0 && holderOf(this.#profile) !== null) return this.#watchOther();
    this.#options.events.onClosed(code === 0 ? null : `Chromium ${how}.`);
  }

  /** Watches for the end of a Chromium that another shell started. */
  #watchOther(): void {
    this.#forgetOther();
    if (this.#children.size > 0) return;
    this.#otherWatch = setInterval(() => {
      if (holderOf(this.#profile) !== null) return;
      this.#forgetOther();
      if (!this.#isToEnd) this.#options.events.onClosed(null);
    }, this.#times.checkMs);
  }

  #forgetOther(): void {
    if (this.#otherWatch !== null) clearInterval(this.#otherWatch);
    this.#otherWatch = null;
  }
}

/** @returns null, or why the folder cannot be created */
function makeProfile(folder: string): string | null {
  try {
    makeFolderSync(folder, 0o700);
    return null;
  } catch (error) {
    return `the folder of its profile cannot be made (${(error as NodeJS.ErrnoException).code})`;
  }
}

/**
 * The process that uses this profile: `SingletonLock` is a link to `<host>-<pid>`. null: none does.
 * A killed Chromium leaves the link behind, and its id may belong to another program by now.
 */
export function holderOf(profile: string): number | null {
  try {
    const pid = Number(/-(\d+)$/.exec(readlinkSync(join(profile, 'SingletonLock')))?.[1]);
    return isProcessAliveWith(profile, pid) ? pid : null;
  } catch {
    return null;
  }
}

/**
 * Whether a Chromium answers for this profile. A killed one leaves its lock behind, and the number
 * in it may belong to any other process by now.
 */
async function isAnswered(profile: string): Promise<boolean> {
  try {
    const socket = await openSocket(realpathSync(join(profile, 'SingletonSocket')));
    socket?.destroy();
    return socket !== null;
  } catch {
    return false;
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // The process has ended.
  }
}
