/** The browser of the person who sits at this machine, where there is one that can be opened. */
import { spawn } from 'node:child_process';

type Env = Readonly<Record<string, string | undefined>>;

export type Opener = { readonly file: string; readonly args: readonly string[] };

/**
 * What opens a file of this machine with the person's browser; null: nothing here would, since
 * there is no display, or the browser stands outside of the system that the file is in (WSL).
 */
export function openerFor(path: string, platform: NodeJS.Platform, env: Env): Opener | null {
  if (platform === 'darwin') return { file: 'open', args: [path] };
  if (platform === 'win32') {
    // `start` belongs to a shell, which reads a path in a way of its own; this is what it calls.
    return { file: 'rundll32.exe', args: ['url.dll,FileProtocolHandler', path] };
  }
  const hasDisplay = [env['DISPLAY'], env['WAYLAND_DISPLAY']].some((one) => one);
  return hasDisplay && !env['WSL_DISTRO_NAME'] ? { file: 'xdg-open', args: [path] } : null;
}

/** The same for an address of the web, which everybody on this machine may read meanwhile. */
export function openerForUrl(url: string, platform: NodeJS.Platform, env: Env): Opener | null {
  if (platform === 'linux' && env['WSL_DISTRO_NAME']) {
    // A program of the Windows around it, which opens its browser.
    return { file: 'rundll32.exe', args: ['url.dll,FileProtocolHandler', url] };
  }
  return openerFor(url, platform, env);
}

/** How long an opener may take to fail; one that runs on is the browser itself. */
const failsWithinMs = 5_000;

/**
 * Opens it. The browser lives on by itself.
 * @returns false: the opener is not there, or ended with a failure. A browser that opened and
 *   cannot read the file is not seen from here.
 */
export async function openInBrowser(opener: Opener, env: Env): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), failsWithinMs);
  try {
    const options = { env: { ...env }, stdio: 'ignore', detached: true } as const;
    const child = spawn(opener.file, opener.args, options);
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
    child.unref();
    return await promise;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
