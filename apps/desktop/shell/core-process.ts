/**
 * The process of the core. It is begun apart from this one's terminal and group, so that it lives
 * on where the shell is killed; one that an earlier shell began is watched by its id.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import { lives } from '../../../src/lib/is-process-alive.ts';
import type { OwnProgram } from '../../../src/lib/own-program.ts';
import type { CoreOrders } from '../desktop.ts';
import type { CoreEnd } from './life-cycle.ts';
import { inMemoryText } from '../core/in-memory-secrets.ts';
import { LastLines } from './scrubbed-lines.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type CoreProcess = {
  /** null: it could not be begun. */
  readonly pid: number | null;
  /** Never rejects. */
  readonly ended: Promise<CoreEnd>;
  /** True: it was begun here. Of another one, an id is all that is known. */
  readonly isOwn: boolean;
  /** Does nothing where it has gone. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
};

export type BeginOptions = {
  readonly program: OwnProgram;
  readonly env: Env;
  readonly orders: Omit<CoreOrders, 'lends'>;
  /** Secrets that no keychain keeps, by their names. */
  readonly inMemory?: ReadonlyMap<string, string>;
  /** Each line that it writes to its standard error, scrubbed. */
  readonly onLine: (line: string) => void;
};

/** How long its last words may take to come after its end. */
const wordsMs = 300;

export function beginCore(options: BeginOptions): CoreProcess {
  const { program, env, orders, inMemory = new Map<string, string>(), onLine } = options;
  const lends = inMemory.size > 0;
  const child = spawn(program.file, [...program.args], {
    cwd: folderHere(),
    env: coreEnv(env, { ...orders, lends }),
    stdio: [lends ? 'pipe' : 'ignore', 'ignore', 'pipe'],
    detached: true,
    windowsHide: true,
  });
  // Nothing of it keeps a shell from ending that was told to end at once.
  child.unref();
  // One that ends before it has read them says why by itself.
  child.stdin?.on('error', () => {}).end(inMemoryText(inMemory));
  const lines = new LastLines(onLine);
  child.stderr!.setEncoding('utf8').on('data', (text: string) => lines.take(text));
  return {
    pid: child.pid ?? null,
    isOwn: true,
    ended: endOf(child, lines),
    signal: (name) => void child.kill(name),
  };
}

async function endOf(child: ChildProcess, lines: LastLines): Promise<CoreEnd> {
  const over = Promise.withResolvers<Pick<CoreEnd, 'code' | 'signal'>>();
  const closed = Promise.withResolvers<void>();
  child.once('exit', (code, signal) => over.resolve({ code, signal }));
  child.once('close', () => closed.resolve());
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    lines.take(`${error.message}\n`);
    over.resolve({ code: null, signal: null });
    closed.resolve();
  });
  const { code, signal } = await over.promise;
  await endsWithin(closed.promise, wordsMs);
  child.stderr?.destroy();
  return { code, signal, lastLines: lines.end() };
}

/** A core is no script of the npm that the shell may be one of: it ends when it is told to. */
function coreEnv(env: Env, orders: CoreOrders): Record<string, string | undefined> {
  const { npm_lifecycle_event: _ofNpm, ...own } = env;
  return { ...own, SVC_DESKTOP: JSON.stringify(orders) };
}

/** Where the person began the shell; no program starts in a folder that is gone meanwhile. */
function folderHere(): string {
  return [process.cwd(), homedir()].find((folder) => existsSync(folder)) ?? '/';
}

const lookEveryMs = 100;

/** One that was there before this shell, and has said which process it is. */
export function watchCore(pid: number): CoreProcess {
  const gone = Promise.withResolvers<CoreEnd>();
  const timer = setInterval(() => {
    if (lives(pid)) return;
    clearInterval(timer);
    gone.resolve({ code: null, signal: null, lastLines: [] });
  }, lookEveryMs).unref();
  return { pid, isOwn: false, ended: gone.promise, signal: (name) => sendTo(pid, name) };
}

function sendTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has gone.
  }
}
