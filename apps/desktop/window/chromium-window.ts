/**
 * A Chromium that shows one page, with a profile of its own. It is not asked before it closes, and
 * lives on where the shell is killed: a page that is shown then is a second window of it.
 */
import { readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeFolderSync } from '../../../src/lib/make-folder.ts';
import { livesWith } from '../../../src/lib/holders.ts';
import type { ApplicationWindow, WindowOptions } from '../desktop.ts';
import { call } from '../lines.ts';
import { startChild, type ChildEnd, type WindowChild } from './child.ts';
import type { ChromiumProgram } from './chromium-program.ts';
import { windowEnvironment } from './display.ts';
import { Redirects } from './redirect.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type ChromiumTimes = {
  /** One that cannot show anything has ended by then. */
  readonly failsMs: number;
  /** How often the end of one is looked for that another shell began. */
  readonly lookMs: number;
};

const chromiumTimes: ChromiumTimes = { failsMs: 3_000, lookMs: 500 };

/**
 * @param address of the page, or of a file that leads to it
 * @param origin is asked as a proxy for every address that is not of this machine, and refuses
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
    // By default all of this machine would be bypassed, by whatever name.
    '--proxy-bypass-list=<-loopback>;127.0.0.1',
    '--class=svc',
    '--window-size=1180,800',
  ];
}

/** A snap reads nothing of the folders where an application keeps what it needs. */
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
  /** Those that have not ended; the first holds the window, others hand over to it. */
  readonly #children = new Set<WindowChild>();
  #look: NodeJS.Timeout | null = null;
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
    // It handed over to one that runs already, or the person closed it at once.
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

  /** Its proxy holds it to this machine, whatever the page leads to. */
  trust(): void {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hide();
    this.#redirects[Symbol.dispose]();
  }

  #over(child: WindowChild, { code, how }: ChildEnd): void {
    this.#children.delete(child);
    if (this.#isToEnd) return;
    // It handed over, on a machine so busy that it took longer than that may take.
    if (code === 0 && holderOf(this.#profile) !== null) return this.#watchOther();
    this.#options.events.onClosed(code === 0 ? null : `Chromium ${how}.`);
  }

  /** One that another shell began: its end is looked for. */
  #watchOther(): void {
    this.#forgetOther();
    if (this.#children.size > 0) return;
    this.#look = setInterval(() => {
      if (holderOf(this.#profile) !== null) return;
      this.#forgetOther();
      if (!this.#isToEnd) this.#options.events.onClosed(null);
    }, this.#times.lookMs);
  }

  #forgetOther(): void {
    if (this.#look !== null) clearInterval(this.#look);
    this.#look = null;
  }
}

/** @returns null, or a sentence on why there can be none */
function makeProfile(folder: string): string | null {
  try {
    makeFolderSync(folder, 0o700);
    return null;
  } catch (error) {
    return `the folder of its profile cannot be made (${(error as NodeJS.ErrnoException).code})`;
  }
}

/**
 * The process that has this profile: `SingletonLock` leads to `<host>-<pid>`. null: none has. One
 * that was killed leaves the link behind, and its id may be that of another program meanwhile.
 */
export function holderOf(profile: string): number | null {
  try {
    const pid = Number(/-(\d+)$/.exec(readlinkSync(join(profile, 'SingletonLock')))?.[1]);
    return livesWith(profile, pid) ? pid : null;
  } catch {
    return null;
  }
}

/**
 * Whether a Chromium has this profile: where one was killed, its lock stays, and the number in it
 * may be that of any other process since.
 */
async function isAnswered(profile: string): Promise<boolean> {
  try {
    const socket = await call(realpathSync(join(profile, 'SingletonSocket')));
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
    // It has ended.
  }
}
