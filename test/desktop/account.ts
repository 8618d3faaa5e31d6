/** The account that runs the application in tests: never root, which the application refuses. */
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { canRun, isOnPath } from '../../src/lib/executable.ts';
import { launcher, root } from '../support/run-svc.ts';

export type Account = { readonly uid: number; readonly gid: number };

/** The PATH to find programs with; a checkout may be at any place. */
const path = process.env['PATH'] ?? '';
/** Accounts that every Linux has, for tests that run as root. */
const names = ['nobody', 'games'];

/** Root gets two accounts; any other user gets only their own. */
export const accounts: readonly Account[] = accountsHere();

function accountsHere(): readonly Account[] {
  if (process.platform !== 'linux') return [];
  const [uid, gid] = [process.getuid!(), process.getgid!()];
  if (uid !== 0) return [{ uid, gid }];
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  return names.flatMap((name) => {
    const line = lines.find((one) => one.startsWith(`${name}:`));
    if (line === undefined) return [];
    const [, , of, group] = line.split(':');
    return [{ uid: Number(of), gid: Number(group) }];
  });
}

/**
 * A shell script that hides each folder with a new file system, shows the places named after it,
 * and runs the rest. It names a source relative to the hidden folder, since its full path leads to
 * the new file system.
 */
const covering = `set -e
back=$PWD mask=$(umask)
umask 022
while [ "$1" != run ]; do
  if [ "$1" = cover ]; then
    cd "$2"
    folder=$2
    mount -t tmpfs -o mode=755 svc "$folder"
  else
    from=./\${2#"$folder"/}
    mkdir -p "$(dirname "$2")"
    if [ -d "$from" ]; then mkdir -p "$2"; else : >>"$2"; fi
    mount --no-canonicalize --bind "$from" "$2"
  fi
  shift 2
done
shift
umask "$mask"
cd "$back"
exec "$@"`;

export const chromium = process.env['SVC_CHROMIUM'] ?? '/usr/bin/chromium';

function whyNoPerson(): string | false {
  if (process.platform !== 'linux') return 'the application is tried on Linux';
  const [account] = accounts;
  if (account === undefined) return 'there is no account but root';
  const { uid } = account;
  if (!ends(account, 'test', ['-x', tmpdir()])) return `the account ${uid} may not use ${tmpdir()}`;
  return (
    !ends(account, process.execPath, ['--check', launcher]) &&
    `the account ${uid} may not read this checkout, and it cannot be mounted where it may`
  );
}

function whyNot(): string | false {
  if (noPerson !== false) return noPerson;
  if (!isOnPath('Xvfb', { PATH: path })) return 'there is no Xvfb: apt install xvfb';
  if (!canRun(chromium)) return `there is no ${chromium}: install chromium, or set SVC_CHROMIUM`;
  const sandbox = '/usr/lib/chromium/chrome-sandbox';
  const isSetuid = existsSync(sandbox) && (statSync(sandbox).mode & 0o4000) !== 0;
  return !isSetuid && !ends(accounts[0]!, 'unshare', ['--user', 'true'])
    ? "Chromium's sandbox needs user namespaces, which this system refuses"
    : false;
}

/** Whether the program succeeds as that account. */
function ends(account: Account, program: string, args: readonly string[]): boolean {
  const [file, ...words] = wordsAs(account, [program, ...args]);
  try {
    execFileSync(file!, words, { cwd: '/', env: { PATH: path }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Starts a program of this checkout as that account, without a process in between. */
export function spawnAs(
  account: Account,
  words: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> },
): ChildProcessWithoutNullStreams {
  const [file, ...args] = wordsAs(account, words);
  return spawn(file!, args, { ...options, stdio: 'pipe' });
}

/**
 * The command that runs a program as that account. Below a folder that it may not enter, such as
 * root's home, it still finds this checkout and this Node at the same paths. For these processes
 * alone, a file system in memory covers that folder and shows only the two.
 */
function wordsAs({ uid, gid }: Account, words: readonly string[]): readonly string[] {
  if (process.getuid!() === uid) return words;
  const person = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...words];
  const isOwn = process.execPath.startsWith(root + sep);
  const shown = [...placesOf(root), ...(isOwn ? [] : [process.execPath])];
  const covered = new Set(shown.map(closedAbove).filter((folder) => folder !== null));
  if (covered.size === 0) return person;
  const steps = [...covered].flatMap((folder) => {
    const below = shown.filter((place) => closedAbove(place) === folder);
    return ['cover', folder, ...below.flatMap((place) => ['show', place])];
  });
  const apart = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', covering, 'sh'];
  return [...apart, ...steps, 'run', ...person];
}

/** A closed folder is replaced by its entries. */
function placesOf(folder: string): readonly string[] {
  return isClosed(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [folder];
}

/** The first folder on the way that others may not enter; null: they reach the place. */
function closedAbove(place: string): string | null {
  const parts = relative(sep, dirname(place)).split(sep);
  const folders = parts.map((_part, index) => sep + parts.slice(0, index + 1).join(sep));
  return folders.find(isClosed) ?? null;
}

/** Whether only root and its owner may enter it. */
export const isClosed = (folder: string): boolean => (statSync(folder).mode & 0o001) === 0;

/** Why the application cannot run here as an account other than root; false: it can. */
export const noPerson: string | false = whyNoPerson();

/** A sentence that says why the application cannot be tested here; false: it can. */
export const notHere: string | false = whyNot();
