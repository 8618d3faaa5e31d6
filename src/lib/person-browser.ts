/** The browser of the person at this machine, if svc can open one. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

export type Opener = { readonly file: string; readonly args: readonly string[] };

/**
 * The program that opens a local file in the person's browser. Null: there is none, since there is
 * no display, or the browser is outside of the system that has the file (WSL).
 */
export function openerFor(path: string, platform: NodeJS.Platform, env: Env): Opener | null {
  if (platform === 'darwin') return { file: 'open', args: [path] };
  if (platform === 'win32') {
    // `start` belongs to a shell, which interprets a path. This is the program that `start` calls.
    return { file: 'rundll32.exe', args: ['url.dll,FileProtocolHandler', path] };
  }
  const hasDisplay = [env['DISPLAY'], env['WAYLAND_DISPLAY']].some((one) => one);
  return hasDisplay && !env['WSL_DISTRO_NAME'] ? { file: 'xdg-open', args: [path] } : null;
}

/**
 * The same for an address of the web. Everybody on this machine may read that address meanwhile.
 */
export function openerForUrl(url: string, platform: NodeJS.Platform, env: Env): Opener | null {
  if (platform === 'linux' && env['WSL_DISTRO_NAME']) {
    // A program of the Windows system outside, which opens its browser.
    return { file: 'rundll32.exe', args: ['url.dll,FileProtocolHandler', url] };
  }
  return openerFor(url, platform, env);
}

/** An opener fails within this time; one that still runs is the browser itself. */
const failsWithinMs = 5_000;

/**
 * Opens the file or address. The browser continues by itself.
 * @returns false: the opener does not exist, or ended with a failure. svc does not see if the
 *   browser opened and cannot read the file.
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

// A small page that redirects to a URL. svc opens this file instead of the URL: everybody on a
// machine can read a program's arguments, and only this user can read the file.

/** Disposing removes the file and its folder. It may be disposed twice. */
export type RedirectFile = Disposable & { readonly path: string };

/** The prefix of their folders' names. */
export const redirectPrefix = 'svc-open-';

/**
 * @param env TMPDIR names the folder for temporary files; otherwise the system does
 * @throws the error of the file system, if svc cannot write there
 */
export function writeRedirectFile(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): RedirectFile {
  // mkdtemp makes it with mode 0700.
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

/** The page has no script, and does not tell the next page where the person came from. */
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
