/**
 * A screen and, on it, a small shell with a window, run by an unprivileged user, here or in a
 * Debian 13 (`scripts/debian-13-root.sh`). Tests without the needed programs are skipped, with a
 * note.
 */
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isOnPath } from '../../src/lib/executable.ts';
import { followed, launcher, root, type Run } from '../support/run-svc.ts';
import { until, within } from '../support/waiting.ts';
import { accounts, isClosed, noPerson, spawnAs } from './account.ts';
import type { Order, Told } from './window-shell.ts';

const isRoot = process.getuid?.() === 0;
/** The time between two polls of the screen: each runs a program, which slows the others. */
const lookMs = 20;
const debian13 = process.env['SVC_DEBIAN_13'] ?? join(root, '.tmp/debian-13');

/** `debian 13`: with a webview. */
type Where = 'here' | 'debian 13';

/** Why the tests of windows cannot run there; false: they can. */
function whyNot(where: Where, programs: readonly string[]): string | false {
  if (process.platform !== 'linux') return 'windows are tried on Linux alone';
  const missing = programs.filter((program) => !isOnPath(program, process.env));
  if (missing.length > 0) return `there is no ${missing.join(' and no ')}`;
  if (where === 'here') return noPerson;
  if (!isRoot) return 'only root may run a program in another system';
  if (isClosed(root)) return 'only root may enter this checkout';
  return !existsSync(join(debian13, 'finished')) && `there is no Debian 13 in ${debian13}`;
}

let skipped = 0;
process.on('exit', () => {
  if (skipped > 0) console.error(`NOT TESTED: ${skipped} tests of windows were skipped.`);
});

type There = { readonly where: Where; readonly programs: readonly string[] };

/** A test with a screen and a user other than root. */
export function windowTest(name: string, there: There, act: (stage: Stage) => Promise<void>): void {
  testThere(name, there, async () => {
    await using stage = await openStage(there.where);
    await act(stage);
  });
}

/**
 * Makes tests that share one screen, one after the other. The first opens it, and it closes after
 * the last test of the suite.
 */
export function windowTests(there: There): (name: string, act: WindowAct) => void {
  let opened: Promise<Stage> | null = null;
  after(async () => (await opened)?.[Symbol.asyncDispose]());
  return (name, act) => {
    testThere(name, there, async () => act(await (opened ??= openStage(there.where))));
  };
}

type WindowAct = (stage: Stage) => Promise<void>;

function testThere(name: string, { where, programs }: There, act: () => Promise<void>): void {
  const skip = whyNot(where, ['Xvfb', 'openbox', 'xdotool', 'wmctrl', ...programs]);
  if (skip !== false) skipped++;
  void test(name, { skip }, act);
}

export type Stage = AsyncDisposable & {
  /** The user who runs the programs. */
  readonly uid: number;
  /** Belongs to that user; other programs of the test may write there too. */
  readonly folder: string;
  /** Further variables for later programs. */
  readonly env: Record<string, string>;
  /** `kind`: the kind of window; any: the first that works. */
  start(kind: string, ...more: readonly string[]): Shell;
  /** Runs svc to its end. @returns its stdout */
  svc(...words: readonly string[]): Promise<string>;
  /** Starts `svc desktop <args>`, with the present kinds of windows. */
  desktop(...args: readonly string[]): Run;
  /** The titles of the visible windows. */
  titles(): Promise<readonly string[]>;
  /** Waits until a window of that title is visible, or is not. @returns its id */
  seen(title: string): Promise<string>;
  unseen(title: string): Promise<void>;
  /** Asks the window to close, as its close button does. */
  close(id: string): Promise<void>;
  /** Ends the display, as logging out does. */
  logOut(): Promise<void>;
};

export type Shell = {
  readonly child: ChildProcess;
  order(order: Order): void;
  /** The next unread event of that kind; rejects when the program ends before. */
  told<K extends Told['told']>(
    told: K,
    is?: (one: Extract<Told, { told: K }>) => boolean,
  ): Promise<Extract<Told, { told: K }>>;
  /** All events so far. */
  all(): readonly Told[];
  /** Runs the script in the page. @returns its result */
  run(script: string): Promise<unknown>;
  readonly ended: Promise<void>;
};

async function openStage(where: Where): Promise<Stage> {
  await using opening = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'svc-window-'));
  opening.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  await chmod(folder, 0o700);
  await mkdir(join(folder, 'home'), { mode: 0o700 });
  const { uid, gid } = accounts[0]!;
  if (isRoot) for (const path of [folder, join(folder, 'home')]) await chown(path, uid, gid);
  const screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x900x24', '-noreset'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  opening.defer(() => endOf(screen));
  const display = `:${await firstLine(screen.stdio[3] as Readable)}`;
  // Without a window manager, no window has a frame or gets a request to close.
  const frames = spawn('openbox', { env: { ...process.env, DISPLAY: display }, stdio: 'ignore' });
  opening.defer(() => endOf(frames));
  const env: Record<string, string> = {
    HOME: join(folder, 'home'),
    XDG_RUNTIME_DIR: folder,
    PATH: process.env['PATH'] ?? '',
    DISPLAY: display,
    LANG: 'C.UTF-8',
  };
  const shells: ChildProcess[] = [];
  opening.defer(async () => void (await Promise.all(shells.map(leave))));
  const x = (words: readonly string[]): Promise<string> => outputOf('xdotool', words, display);
  const find = async (title: string): Promise<string> => {
    const ids = await x(['search', '--onlyvisible', '--name', `^${title}$`]);
    if (ids === '') await pause(lookMs);
    return ids.trim();
  };
  const closing = opening.move();
  return {
    uid,
    folder,
    env,
    start: (kind, ...more) => {
      const shell = join(import.meta.dirname, 'window-shell.ts');
      const words = [process.execPath, shell, join(folder, 'shell'), kind, ...more];
      const child = startIn(where, words, env, folder);
      child.stderr.pipe(process.stderr);
      shells.push(child);
      return shellOf(child);
    },
    svc: async (...words) => {
      const child = startIn(where, [process.execPath, launcher, ...words], env, folder);
      child.stderr.pipe(process.stderr);
      shells.push(child);
      return textOf(child);
    },
    desktop: (...args) => {
      const words = [process.execPath, launcher, 'desktop', ...args];
      return followed(startIn(where, words, env, folder));
    },
    titles: async () => {
      const ids = (await x(['search', '--onlyvisible', '--name', '.'])).split('\n');
      const names = ids.filter((id) => id !== '').map((id) => x(['getwindowname', id]));
      return (await Promise.all(names)).map((name) => name.trim());
    },
    seen: (title) => {
      return until(`${title} is seen`, async () => (await find(title)).split('\n')[0] || null);
    },
    unseen: (title) => until(`${title} is not seen`, async () => (await find(title)) === ''),
    // Not by a key: while a window comes to the front, none may have the focus.
    close: async (id) => void (await outputOf('wmctrl', ['-i', '-c', id], display)),
    logOut: () => endOf(screen),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Runs it as an unprivileged user; the other system has this checkout and the test's folder. */
function startIn(
  where: Where,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  folder: string,
): ChildProcessWithoutNullStreams {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const program = ['env', '-i', ...variables, ...words];
  const { uid, gid } = accounts[0]!;
  if (where === 'here') return spawnAs(accounts[0]!, program, { cwd: root, env: process.env });
  const script = `set -e
root="$1"; folder="$2"; shift 2
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
# Others may not enter the one of Debian, and this checkout may lie below it.
mount -t tmpfs -o mode=755 tmpfs "$root/root"
for one in "$PWD" "$folder"; do mkdir -p "$root$one"; mount --rbind "$one" "$root$one"; done
mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
exec chroot "$root" setpriv --reuid=${uid} --regid=${gid} --clear-groups "$@"`;
  const there = ['--mount', '--propagation', 'private', 'bash', '-c', script, 'bash', debian13];
  return spawn('unshare', [...there, folder, ...program], { cwd: root, stdio: 'pipe' });
}

function shellOf(child: ChildProcess): Shell {
  const came: Told[] = [];
  const untaken: Told[] = [];
  const watchers = new Set<() => void>();
  let isOver = false;
  const wake = (): void => watchers.forEach((look) => look());
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const told = JSON.parse(line) as Told;
    came.push(told);
    untaken.push(told);
    wake();
  });
  child.stdin!.on('error', () => {});
  const ended = (async (): Promise<void> => {
    await once(child, 'close');
    isOver = true;
    wake();
  })();
  const shell: Shell = {
    child,
    ended,
    order: (order) => void child.stdin!.write(`${JSON.stringify(order)}\n`),
    told: (told, is = () => true) => {
      type One = Extract<Told, { told: typeof told }>;
      const { promise, resolve, reject } = Promise.withResolvers<One>();
      const look = (): void => {
        const at = untaken.findIndex((one) => one.told === told && is(one as One));
        if (at < 0 && !isOver) return;
        watchers.delete(look);
        if (at < 0) reject(new Error(`no "${told}" came, but ${JSON.stringify(came, null, 1)}`));
        else resolve(untaken.splice(at, 1)[0] as One);
      };
      watchers.add(look);
      look();
      return within(`"${told}"`, promise);
    },
    all: () => came,
    run: async (script) => {
      shell.order({ do: 'run', script });
      return JSON.parse((await shell.told('page')).value) as unknown;
    },
  };
  return shell;
}

/** Ends stdin, which makes it close its window and end. */
async function leave(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.stdin?.end();
  try {
    await within('a shell ends with its stdin', ended);
  } finally {
    child.kill('SIGKILL');
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function firstLine(stream: Readable): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  throw new Error('Xvfb did not begin');
}

async function outputOf(program: string, words: readonly string[], display: string) {
  const child = spawn(program, words, {
    env: { ...process.env, DISPLAY: display },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return textOf(child);
}

async function textOf(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout!.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(child, 'close');
  return text;
}
