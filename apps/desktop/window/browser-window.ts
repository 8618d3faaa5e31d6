/** A tab of the person's browser. svc cannot see whether it opened, nor when it is closed. */
import { execFile } from 'node:child_process';
import { isOnPath } from '../../../src/lib/executable.ts';
import { openerFor, openerForUrl, openInBrowser } from '../../../src/lib/person-browser.ts';
import type { ApplicationWindow } from '../desktop.ts';
import { windowEnvironment } from './display.ts';
import { Redirects } from './redirect.ts';
import type { WindowOptions } from './window-options.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** `xdg-settings` is a script that calls other programs. */
const settingsMs = 2_000;

/** @returns null: a browser can probably be opened; else why not */
export function whyNoBrowser(
  env: Env,
  platform: NodeJS.Platform = process.platform,
): string | null {
  const opener = openerForUrl('about:blank', platform, env);
  if (opener === null) return 'there is no display to show one on';
  if (platform !== 'linux' || isOnPath(opener.file, env)) return null;
  return `${opener.file} is not installed`;
}

export class BrowserWindow implements ApplicationWindow {
  readonly kind = 'browser';
  readonly asksToClose = false;
  readonly hasTray = false;
  readonly #env: Record<string, string>;
  readonly #platform: NodeJS.Platform;
  readonly #redirects: Redirects;

  constructor(
    { env, places }: Pick<WindowOptions, 'env' | 'places'>,
    platform: NodeJS.Platform = process.platform,
  ) {
    this.#env = windowEnvironment(env);
    this.#platform = platform;
    this.#redirects = new Redirects(places.runtime);
  }

  async show(url: string): Promise<string | null> {
    const why = whyNoBrowser(this.#env, this.#platform);
    if (why !== null) return `No browser can be opened: ${why}.`;
    const path = (await this.#readsFiles()) ? this.#redirects.to(url) : null;
    const opener =
      (path === null ? null : openerFor(path, this.#platform, this.#env)) ??
      openerForUrl(url, this.#platform, this.#env);
    const isOpened = opener !== null && (await openInBrowser(opener, this.#env));
    return isOpened ? null : `No browser was opened: ${opener?.file} failed.`;
  }

  /** Does nothing: the tab is the person's. */
  async hide(): Promise<void> {}

  status(): void {}

  trust(): void {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redirects[Symbol.dispose]();
  }

  /**
   * False for a browser from a snap: it can read neither temporary nor hidden files of the person.
   */
  async #readsFiles(): Promise<boolean> {
    if (this.#platform !== 'linux') return true;
    if (this.#env['WSL_DISTRO_NAME']) return false;
    return !isOfSnap(await defaultBrowser(this.#env));
  }
}

/** True for the names that snapd gives to desktop entries: `firefox_firefox.desktop`. */
export const isOfSnap = (entry: string): boolean => /^[^_]+_.+\.desktop$/.test(entry);

function defaultBrowser(env: Record<string, string>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const words = ['get', 'default-web-browser'];
  execFile('xdg-settings', words, { env, timeout: settingsMs }, (_error, stdout) => {
    resolve(stdout.trim());
  });
  return promise;
}
