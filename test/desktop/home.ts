/** What the person of a stage has: folders of their own, and programs on the path. */
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { chromium, type Account } from './account.ts';

export type Home = AsyncDisposable & {
  /** The folder that all of it is in. */
  readonly place: string;
  readonly env: Readonly<Record<'PATH' | 'HOME' | 'TMPDIR' | 'XDG_RUNTIME_DIR', string>>;
  /** What the desktop's opener was given, in order: files and addresses. */
  opened(): Promise<readonly string[]>;
  /** All files that the person has by now, what a browser keeps among them. */
  texts(): Promise<readonly { readonly file: string; readonly text: string }[]>;
  /** Writes a file that is the person's, in folders that are. @param file absolute, in the home */
  write(file: string, text: string): Promise<void>;
};

/** @param account whose it is; null: who runs the tests */
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
      // A browser of the machine with another name is not to be found before this one.
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
 * It lets the test in, by a port of its choice that it writes to its profile. Nothing leaves this
 * machine; what its pages may ask is not touched.
 */
const chromiumWords = '--remote-debugging-port=0 --disable-gpu';

async function script(file: string, line: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${line}\n`);
  await chmod(file, 0o755);
}
