/** The home of a stage's person: their own folders, and programs on the PATH. */
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { chromium, type Account } from './account.ts';

export type Home = AsyncDisposable & {
  /** The folder around all of it. */
  readonly place: string;
  readonly env: Readonly<Record<'PATH' | 'HOME' | 'TMPDIR' | 'XDG_RUNTIME_DIR', string>>;
  /** The files and addresses that the desktop's opener received, in order. */
  opened(): Promise<readonly string[]>;
  /** All present files of the person, including the browser's. */
  texts(): Promise<readonly { readonly file: string; readonly text: string }[]>;
  /** Writes a file, and its folders, owned by the person. @param file absolute, in the home */
  write(file: string, text: string): Promise<void>;
};

/** @param account the owner; null: the user who runs the tests */
export async function makeHome(account: Account | null): Promise<Home> {
  const place = await mkdtemp(join(tmpdir(), 'svc-desk-'));
  const [home, runtime, temporary] = ['home', 'run', 'tmp'].map((name) => join(place, name)) as [
    string,
    string,
    string,
  ];
  const [bin, list] = [join(place, 'bin'), join(home, '.opened')];
  const give = async (path: string): Promise<void> => {
    if (account !== null) await chown(path, account.uid, account.gid);
  };
  await chmod(place, 0o711);
  for (const folder of [home, runtime, temporary]) {
    await mkdir(folder, { mode: 0o700 });
    await give(folder);
  }
  await mkdir(bin);
  await script(join(bin, 'google-chrome-stable'), `exec '${chromium}' ${chromiumWords} "$@"`);
  await script(join(bin, 'xdg-open'), `printf '%s\\n' "$1" >> '${list}'`);
  return {
    place,
    env: {
      // No other browser of the machine may come first on the PATH.
      PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
      HOME: home,
      TMPDIR: temporary,
      XDG_RUNTIME_DIR: runtime,
    },
    async opened() {
      const text = await readFile(list, 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    async texts() {
      const entries = await readdir(home, { recursive: true, withFileTypes: true });
      const files = entries
        .filter((one) => one.isFile())
        .map((one) => join(one.parentPath, one.name));
      const read = async (file: string) => ({
        file,
        text: await readFile(file, 'latin1').catch(() => ''),
      });
      return Promise.all(files.map(read));
    },
    async write(file, text) {
      const folder = dirname(file);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const names = relative(home, folder).split(sep);
      for (const index of names.keys()) await give(join(home, ...names.slice(0, index + 1)));
      await writeFile(file, text, { mode: 0o600 });
      await give(file);
    },
    [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true, maxRetries: 10 }),
  };
}

/**
 * Chromium picks a port for the test, and writes it to its profile. No request leaves this machine;
 * otherwise its pages have no limits.
 */
const chromiumWords = '--remote-debugging-port=0 --disable-gpu';

async function script(file: string, line: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${line}\n`);
  await chmod(file, 0o755);
}
