/** Finds an installed Chromium that can show one page as an application. */
import { realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { homedir } from 'node:os';
import { canRun } from '../../../src/lib/executable.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type ChromiumProgram = {
  readonly file: string;
  /** True: it can read no hidden folder and no temporary file of the person. */
  readonly isSnap: boolean;
};

const onPath = [
  'google-chrome-stable',
  'google-chrome',
  'chromium',
  'chromium-browser',
  'microsoft-edge-stable',
  'microsoft-edge',
  'brave-browser',
];
const macNames = ['Google Chrome', 'Chromium', 'Microsoft Edge', 'Brave Browser'];
const windowsPaths = [
  ['Google', 'Chrome', 'Application', 'chrome.exe'],
  ['Microsoft', 'Edge', 'Application', 'msedge.exe'],
  ['BraveSoftware', 'Brave-Browser', 'Application', 'brave.exe'],
];

/** The possible paths, in the order in which they are tried. */
export function chromiumPlaces(env: Env, platform: NodeJS.Platform): readonly string[] {
  if (platform === 'darwin') {
    const folders = ['/Applications', join(env['HOME'] || homedir(), 'Applications')];
    return macNames.flatMap((name) =>
      folders.map((folder) => join(folder, `${name}.app`, 'Contents', 'MacOS', name)),
    );
  }
  if (platform === 'win32') {
    const roots = ['ProgramFiles', 'ProgramFiles(x86)', 'LOCALAPPDATA'].flatMap((name) => {
      return env[name] || [];
    });
    return windowsPaths.flatMap((parts) => roots.map((folder) => join(folder, ...parts)));
  }
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  return onPath.flatMap((name) => folders.map((folder) => join(folder, name)));
}

/** @returns null: none is installed */
export function findChromium(
  env: Env,
  platform: NodeJS.Platform = process.platform,
): ChromiumProgram | null {
  const file = chromiumPlaces(env, platform).find(canRun);
  return file === undefined ? null : { file, isSnap: platform === 'linux' && isOfSnap(file) };
}

/** On Ubuntu, `chromium-browser` is a script that runs the snap. */
function isOfSnap(file: string): boolean {
  try {
    return (
      [file, realpathSync(file)].some((path) => /^\/(?:var\/lib\/)?snap\//.test(path)) ||
      realpathSync(file) === '/usr/bin/snap' ||
      (file.endsWith('/chromium-browser') && hasSnap())
    );
  } catch {
    return false;
  }
}

const hasSnap = (): boolean => canRun('/snap/bin/chromium');
