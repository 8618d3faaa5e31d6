/**
 * The application on a desktop of its own: an account that is not root, its home, a display without
 * a screen, a session bus with a keyring where one is asked for, and a Chromium with its sandbox,
 * whose window the test sees by the DevTools protocol. The programs are the real ones. What any of
 * them began has ended when the scope of the stage is left.
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
 * A test of the application; where it cannot run it is skipped, and says so.
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
    // A browser that has gone leaves who waits for it with nothing that would go on.
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

/** What the window of each desktop showed when it was closed, and what its programs logged. */
const lastWords: string[] = [];
/** The same of those that are open. */
const openNow = new Set<() => Promise<readonly string[]>>();

/** Whose process it is among those of the application. */
export type Role = 'shell' | 'core' | 'window';

export type Desktop = AsyncDisposable & {
  readonly env: Readonly<Record<string, string>>;
  readonly places: Places;
  readonly display: Display;
  readonly home: Home;
  /** Puts another keyring over the same store in the place of the one that was asked for. */
  keyring(how: 'unlocked' | 'locked'): Promise<void>;
  /** Runs `svc <args>` as the person of this desktop. */
  run(args: readonly string[], env?: Readonly<Record<string, string | undefined>>): Run;
  /** The process of that role that lives now. */
  pidOf(role: Role): number | null;
  /** Resolves with the process of that role, once there is one other than the one given. */
  comes(role: Role, notPid?: number | null): Promise<number>;
  kill(role: Role): number;
  /** Begins the application, `svc desktop <args>`. What it says when it ends is for the test. */
  start(args?: readonly string[], env?: Readonly<Record<string, string | undefined>>): Run;
  /** The page of the window that is there now, or comes: the newest one that is none of these. */
  page(others?: readonly Page[]): Promise<Page>;
  /** Those of the windows that are there. */
  pages(): readonly Page[];
  /** All of the application, browsers among them. */
  processes(): readonly Process[];
  /** Resolves when none of them is left. */
  ends(): Promise<void>;
  /** Resolves when the log of the shell has it. */
  logged(pattern: RegExp): Promise<void>;
};

export type DesktopOptions = {
  /** Left out: the first of this machine. */
  readonly account?: Account;
  /** Left out: there is no bus, and so no keychain. `none`: a bus without one. */
  readonly keyring?: 'unlocked' | 'locked' | 'none';
  /** The text of the configuration in the person's folder; left out: there is none. */
  readonly config?: string;
  /** Variables that the session has besides. */
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

/** A page that waits for its server answers nobody: what it shows is told without it. */
const busyMs = 2_000;

/** One that ends badly by itself opens no window any more. */
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

/** Presses Enter on the button that is called so, once it can be used. */
export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true, disabled: false }).press('Enter');
}

/** The same, of a button whose window goes with it. */
export async function pressLast(page: Page, name: string): Promise<void> {
  await press(page, name).catch((error: Error) => {
    if (!error.message.includes('has been closed')) throw error;
  });
}

/**
 * What the page of the application says that the window shows; it waits until one is shown. While
 * a page waits for what comes next, Chromium lets nobody look into it: so the same is asked for.
 */
export async function applicationPage(page: Page): Promise<string> {
  await until('the page of the application is shown', () => page.url().includes('/app/'));
  return (await fetch(page.url())).text();
}

/** By the words of its command line. */
const roles: Readonly<Record<Role, (words: readonly string[]) => boolean>> = {
  shell: ([, script, command]) => script === launcher && command === 'desktop',
  core: (words) => words.includes('serve') || words.includes('first-run'),
  window: (words) =>
    words.some((word) => word.startsWith('--app=')) &&
    !words.some((word) => word.startsWith('--type=')),
};

/** The windows of one profile of Chromium, one after the other. */
class Windows implements AsyncDisposable {
  readonly #portFile: string;
  #browser: Browser | null = null;
  #fault: string | null = null;

  constructor(profile: string) {
    this.#portFile = join(profile, 'DevToolsActivePort');
  }

  /** Nobody waits any more: there will be none. */
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
      // One that was killed may not have been missed yet.
      if ((await this.#connected()) === null) return false;
      page = this.pages().findLast((one) => !others.includes(one));
      return page !== undefined;
    });
    page!.setDefaultTimeout(patienceMs);
    return page!;
  }

  /** What they show now, in words. */
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
    // Who looks in while the first page leads on sees that first page for ever.
    if (!(await isLedOn(port))) return null;
    // The file of a window before it may still be there.
    this.#browser = await chromium
      .connectOverCDP(`http://127.0.0.1:${port}`, { timeout: patienceMs, noDefaults: true })
      .catch(() => null);
    return this.#browser;
  }

  /** Lets go of it; its process ends with the stage. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.close().catch(() => {});
  }
}

/** Whether a window shows more than the file that it was opened with. */
async function isLedOn(port: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const targets = (await answer.json()) as readonly { type: string; url: string }[];
    return targets.some(({ type, url }) => type === 'page' && url.startsWith('http:'));
  } catch {
    return false;
  }
}
