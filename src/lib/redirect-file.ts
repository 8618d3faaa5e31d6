/**
 * A small page that leads to a URL. It is what a browser is given to open: everybody on a machine
 * can read the arguments of a program, and only this user can read the file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
