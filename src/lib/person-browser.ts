/** The browser of the person who sits at this machine, where there is one that can be opened. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

// A small page that leads to a URL. It is what a browser is given to open: everybody on a machine
// can read the arguments of a program, and only this user can read the file.

/** Disposing removes the file and its folder; it may be disposed twice. */
export type RedirectFile = Disposable & { readonly path: string };

/** What the names of their folders begin with. */
export const redirectPrefix = 'svc-open-';

/**
 * @param env says by TMPDIR where temporary files belong; else the system does
 * @throws what the file system says, where no file can be written there
 */
export function writeRedirectFile(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): RedirectFile {
  // Made with 0700.
  const folder = mkdtempSync(join(env['TMPDIR'] || tmpdir(), redirectPrefix));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const path = join(folder, 'open.html');
  try {
    writeFileSync(path, pageTo(url), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    remove();
    throw error;
  }
  return { path, [Symbol.dispose]: remove };
}

/** Without a script, and so that the page after it is not told where it was opened from. */
function pageTo(url: string): string {
  const safe = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${safe}">
<title>svc</title>
<p><a href="${safe}">Go to the page of svc</a></p>
</html>
`;
}
