/**
 * The lines of `svc doctor` about the windows that the desktop application has here. It opens none.
 */
import { execFile } from 'node:child_process';
import { windowKinds, type WindowKind } from '../../../apps/desktop/desktop.ts';
import { findChromium } from '../../../apps/desktop/window/chromium-program.ts';
import { displayFault, windowEnvironment } from '../../../apps/desktop/window/display.ts';
import { whetherHere, type Whether } from '../../../apps/desktop/window/window.ts';
import { ownProgram } from '../../lib/program.ts';
import { ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';

type Env = Readonly<Record<string, string | undefined>>;

const subject = 'desktop window';
/** The library usually loads in half a second. */
const loadMs = 10_000;

/** One line for each kind of window, or a single line if there is no display. */
export async function desktopLines(env: Env): Promise<readonly PreflightLine[]> {
  const fault = await displayFault(env);
  if (fault !== null) {
    return [ok(subject, 'none is possible here, for want of a display; svc serve needs none')];
  }
  const chromium = findChromium(env);
  const whether = await whetherHere(env, chromium);
  const loaded = whether.webview === null ? await loadsWebview(env) : null;
  const webview = loaded?.why ?? whether.webview;
  const runs = { webview: `WebKit ${loaded?.version ?? ''}`, chromium: chromium?.file ?? '' };
  return linesOf({ ...whether, webview }, { ...runs, browser: '' });
}

const words: Record<WindowKind, string> = {
  webview: 'a window of its own',
  chromium: 'a window of Chromium',
  browser: 'a tab of your browser',
};

/** @param runs the program or library that shows each kind of window, where it works */
export function linesOf(
  whether: Whether,
  runs: Readonly<Record<WindowKind, string>>,
): readonly PreflightLine[] {
  const first = windowKinds.find((kind) => whether[kind] === null);
  const lines = windowKinds.map((kind) => {
    const why = whether[kind];
    if (why !== null) return ok(subject, `${words[kind]}: not here, since ${why}`);
    const by = runs[kind] === '' ? '' : ` (${runs[kind]})`;
    const rank = kind === first ? 'is what svc desktop opens' : 'would do as well';
    return ok(subject, `${words[kind]}${by} ${rank}`);
  });
  if (first !== undefined) return lines;
  const remedy = 'Install Chromium, or xdg-utils and a browser.';
  return [...lines, warning(subject, 'svc desktop can open none of them', remedy)];
}

type LoadResult = { readonly version: string | null; readonly why: string | null };

/** Loads the library in a separate process, since a fault in the library may end the process. */
function loadsWebview(env: Env): Promise<LoadResult> {
  const { file, args } = ownProgram('internal', 'window');
  const options = { env: windowEnvironment(env), timeout: loadMs, windowsHide: true };
  const { promise, resolve } = Promise.withResolvers<LoadResult>();
  execFile(file, [...args, 'look'], options, (error, stdout) => {
    const line = stdout.trim();
    if (error === null) resolve({ version: line, why: null });
    else resolve({ version: null, why: line || 'its library ends the process that loads it' });
  });
  return promise;
}
