/**
 * The application on its own desktop: an account other than root with its home, a display without a
 * screen, optionally a session bus with a keyring, and a sandboxed Chromium. The test sees the
 * window by the DevTools protocol. All programs are real. The stage ends every process at the end
 * of its scope.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium, type Browser, type Page } from 'playwright-core';
import { placesOf, type Places } from '../../apps/desktop/places.ts';
import { openSession, type Keyring } from '../keyring/session.ts';
import { followed, launcher, type Run } from '../support/run-svc.ts';
import { accounts, notHere, spawnAs, type Account } from './account.ts';
import { openDisplay, type Display } from './display.ts';
import { makeHome, type Home } from './home.ts';
import { kill, Marked, type Process } from './marked.ts';
import { patienceMs, until } from '../support/waiting.ts';

/**
 * A test of the application. It is skipped, with a note, where the application cannot run.
 * @param also another reason to skip it; false: there is none
 */
export function applicationTest(
  name: string,
  act: () => Promise<void>,
  also: string | false = false,
): void {
  const skip = notHere === false ? also : notHere;
  void test(name, { skip }, async () => {
    lastWords.length = 0;
    // Keeps the process alive when the browser has gone, so that the waiting test can fail.
    const held = setInterval(() => {}, patienceMs);
    try {
      await act();
    } catch (error) {
      for (const tell of openNow) lastWords.push(...(await tell()));
      const lines = [error instanceof Error ? error.message : String(error), ...lastWords];
      throw new Error(lines.join('\n'), { cause: error });
    } finally {
      clearInterval(held);
    }
  });
}

/** The last content of each closed desktop's window, and the logs of its programs. */
const lastWords: string[] = [];
/** The same for open desktops. */
const openNow = new Set<() => Promise<readonly string[]>>();

/** The part of a process in the application. */
export type Role = 'shell' | 'core' | 'window';

export type Desktop = AsyncDisposable & {
  readonly env: Readonly<Record<string, string>>;
  readonly places: Places;
  readonly display: Display;
  readonly home: Home;
  /** Replaces the keyring by another one over the same store. */
  keyring(how: 'unlocked' | 'locked'): Promise<void>;
  /** Runs `svc <args>` as the person of this desktop. */
  run(args: readonly string[], env?: Readonly<Record<string, string | undefined>>): Run;
  /** The living process of that role. */
  pidOf(role: Role): number | null;
  /** Resolves with the process of that role, once it differs from the given one. */
  comes(role: Role, notPid?: number | null): Promise<number>;
  kill(role: Role): number;
  /** Starts `svc desktop <args>`. The test reads its final output. */
  start(args?: readonly string[], env?: Readonly<Record<string, string | undefined>>): Run;
  /** Waits for a page of the window: the newest that is not in `others`. */
  page(others?: readonly Page[]): Promise<Page>;
  /** The pages of all present windows. */
  pages(): readonly Page[];
  /** All processes of the application, including browsers. */
  processes(): readonly Process[];
  /** Resolves when no process is left. */
  ends(): Promise<void>;
  /** Resolves when the log of the shell matches. */
  logged(pattern: RegExp): Promise<void>;
};

export type DesktopOptions = {
  /** Default: the first account of this machine. */
  readonly account?: Account;
  /** Default: no bus, and so no keychain. `none`: a bus without a keyring. */
  readonly keyring?: 'unlocked' | 'locked' | 'none';
  /** The text of the person's configuration file; default: no file. */
  readonly config?: string;
  /** Further variables of the session. */
  readonly env?: Readonly<Record<string, string>>;
};

export async function openDesktop(options: DesktopOptions = {}): Promise<Desktop> {
  await using parts = new AsyncDisposableStack();
  const who = options.account ?? accounts[0]!;
  const account = process.getuid!() === who.uid ? null : who;
  const home = parts.use(await makeHome(account));
  const session = options.keyring === undefined ? null : parts.use(await openSession(account));
  let daemon: Keyring | null = null;
  const keyring: Desktop['keyring'] = async (how) => {
    await daemon?.end();
    daemon = await session!.startKeyring(how);
  };
  if (options.keyring !== undefined && options.keyring !== 'none') await keyring(options.keyring);
  const marked = parts.use(new Marked(home.place, who.uid));
  const display = parts.use(await openDisplay(account, home.env));
  const env = {
    ...home.env,
    DISPLAY: display.name,
    DBUS_SESSION_BUS_ADDRESS: session?.env['DBUS_SESSION_BUS_ADDRESS'] ?? 'disabled:',
    LANG: 'C.UTF-8',
    ...options.env,
  };
  const places = placesOf(env, 'linux');
  if (options.config !== undefined) await home.write(places.config, options.config);
  const processes = (): readonly Process[] => marked.all().filter(({ pid }) => pid !== display.pid);
  const pidOf = (role: Role): number | null =>
    marked.main().find(({ words }) => roles[role](words))?.pid ?? null;
  const windows = new Windows(join(places.profile, 'chromium'));
  parts.use(windows);
  const tell = async (): Promise<readonly string[]> => {
    return [...(await windows.shown()), ...(await logsIn(places.logs))];
  };
  openNow.add(tell);
  parts.defer(async () => {
    openNow.delete(tell);
    lastWords.push(...(await tell()));
  });
  const own = parts.move();
  const run: Desktop['run'] = (args, more = {}) => {
    const around = { cwd: home.env.HOME, env: { ...env, ...more } };
    return followed(spawnAs(who, [process.execPath, launcher, ...args], around));
  };
  return {
    env,
    places,
    display,
    home,
    keyring,
    run,
    start(args = [], more = {}) {
      const begun = run(['desktop', ...args], more);
      void failing(begun, windows);
      return begun;
    },
    pidOf,
    async comes(role, notPid = null) {
      let pid: number | null = null;
      const isOther = (): boolean => (pid = pidOf(role)) !== null && pid !== notPid;
      await until(`there is a ${role}`, isOther);
      return pid!;
    },
    kill(role) {
      const pid = pidOf(role);
      if (pid === null) throw new Error(`there is no ${role}`);
      kill(pid);
      return pid;
    },
    page: (others) => windows.page(others),
    pages: () => windows.pages(),
    processes,
    ends: () => until('all of it has ended', () => processes().length === 0),
    logged(pattern) {
      const file = join(places.logs, 'desktop.log');
      const has = async (): Promise<boolean> => pattern.test(await readFile(file, 'utf8'));
      return until(`the log has ${pattern}`, has);
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** Waits for a page of the application with that title. */
export async function titled(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
}

/** A page that waits for its server cannot be inspected; after this time, the report omits it. */
const busyMs = 2_000;

/** Fails the waiting tests when the application ends with an error, since no window will open. */
async function failing(run: Run, windows: Windows): Promise<void> {
  const { code } = await run.ended;
  if (code === 0 || code === null) return;
  windows.fail(`svc desktop ended with ${code}:\n${run.out()}${run.err()}`);
}

async function logsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const texts = names.map(
    async (name) => `${name}:\n${await readFile(join(folder, name), 'utf8')}`,
  );
  return Promise.all(texts);
}

/** Presses Enter on the button of this name, once it is enabled. */
export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true, disabled: false }).press('Enter');
}

/** The same, for a button that closes its window. */
export async function pressLast(page: Page, name: string): Promise<void> {
  await press(page, name).catch((error: Error) => {
    if (!error.message.includes('has been closed')) throw error;
  });
}

/**
 * The content of the application's page, once the window shows one. Chromium cannot inspect a page
 * that still loads, so this function requests the same address.
 */
export async function applicationPage(page: Page): Promise<string> {
  await until('the page of the application is shown', () => page.url().includes('/app/'));
  return (await fetch(page.url())).text();
}

/** Recognizes each process by its command line. */
const roles: Readonly<Record<Role, (words: readonly string[]) => boolean>> = {
  shell: ([, script, command]) => script === launcher && command === 'desktop',
  core: (words) => words.includes('serve') || words.includes('first-run'),
  window: (words) =>
    words.some((word) => word.startsWith('--app=')) &&
    !words.some((word) => word.startsWith('--type=')),
};

/** The successive windows of one profile of Chromium. */
class Windows implements AsyncDisposable {
  readonly #portFile: string;
  #browser: Browser | null = null;
  #fault: string | null = null;

  constructor(profile: string) {
    this.#portFile = join(profile, 'DevToolsActivePort');
  }

  /** Makes every wait fail, since no window will open. */
  fail(why: string): void {
    this.#fault = why;
  }

  pages(): readonly Page[] {
    return this.#browser?.contexts()[0]?.pages() ?? [];
  }

  async page(others: readonly Page[] = []): Promise<Page> {
    let page: Page | undefined;
    await until('there is a window with a page', async () => {
      if (this.#fault !== null) throw new Error(this.#fault);
      // The connection to a killed one may still seem alive.
      if ((await this.#connected()) === null) return false;
      page = this.pages().findLast((one) => !others.includes(one));
      return page !== undefined;
    });
    page!.setDefaultTimeout(patienceMs);
    return page!;
  }

  /** The present texts of the windows. */
  async shown(): Promise<readonly string[]> {
    const wordsOf = async (page: Page): Promise<string> => {
      const late = pause(busyMs, '(it waits)');
      const text = page.evaluate<string>('document.body.innerText').catch(String);
      return `${page.url()} shows:\n${await Promise.race([text, late])}`;
    };
    return Promise.all(this.pages().map(wordsOf));
  }

  async #connected(): Promise<Browser | null> {
    if (this.#browser?.isConnected() === true) return this.#browser;
    const [port = ''] = (await readFile(this.#portFile, 'utf8').catch(() => '')).split('\n');
    if (port === '') return null;
    // A client that connects during the redirect of the first page sees that page forever.
    if (!(await isLedOn(port))) return null;
    // The file of an earlier window may still be there.
    this.#browser = await chromium
      .connectOverCDP(`http://127.0.0.1:${port}`, { timeout: patienceMs, noDefaults: true })
      .catch(() => null);
    return this.#browser;
  }

  /** Disconnects; the browser ends with the stage. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.close().catch(() => {});
  }
}

/** Whether a window has left the file that opened it. */
async function isLedOn(port: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const targets = (await answer.json()) as readonly { type: string; url: string }[];
    return targets.some(({ type, url }) => type === 'page' && url.startsWith('http:'));
  } catch {
    return false;
  }
}
