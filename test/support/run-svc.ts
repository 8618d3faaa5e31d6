/** Runs the real program as a person would, and inspects its leftovers. */
import {
  execFileSync,
  spawn,
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
} from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import * as waiting from './waiting.ts';

export const root = join(import.meta.dirname, '../..');
export const launcher = join(root, 'bin', 'svc.js');

export type Run = {
  readonly child: ChildProcess;
  /** All output so far. */
  out(): string;
  err(): string;
  /** Resolves with the output when it matches; rejects when the process ends before. */
  until(pattern: RegExp, stream?: 'out' | 'err'): Promise<RegExpExecArray>;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
};

/** @param options `node` is the Node that runs the launcher; by default this one */
export function runSvc(
  args: readonly string[],
  options: { node?: string; env?: Record<string, string | undefined>; cwd?: string } = {},
): Run {
  return runProgram(options.node ?? process.execPath, [launcher, ...args], options);
}

/** Runs `svc <args>` to its end, without input. */
export async function outcomeOf(
  args: readonly string[],
  options: Parameters<typeof runSvc>[1] = {},
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const run = runSvc(args, options);
  run.child.stdin?.end();
  const { code } = await run.ended;
  return { code, out: run.out(), err: run.err() };
}

/** Runs the build of svc, which starts in half the time; after an edit, the sources. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string | undefined>; cwd?: string } = {},
): Run {
  const child = spawn(program, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return followed(child);
}

/** Collects the output of a program from its start. */
export function followed(child: ChildProcessWithoutNullStreams): Run {
  // When it ends without reading its input, its exit code and output tell why.
  child.stdin.on('error', () => {});
  return watchProcess(child);
}

/** @param child whose output is piped */
export function watchProcess(
  child: ChildProcess & { readonly stdout: Readable; readonly stderr: Readable },
): Run {
  const text = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text.out += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (text.err += part));
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  const until = (pattern: RegExp, stream: 'out' | 'err' = 'out'): Promise<RegExpExecArray> => {
    const found = new Promise<RegExpExecArray>((resolve, reject) => {
      const source = stream === 'out' ? child.stdout : child.stderr;
      const look = (): void => {
        const match = pattern.exec(text[stream]);
        if (match === null) return;
        source.off('data', look);
        resolve(match);
      };
      source.on('data', look);
      look();
      void ended.then(() => reject(new Error(`ended without ${pattern}:\n${text.out}${text.err}`)));
    });
    return waiting.within(() => `${pattern} in:\n${text.out}${text.err}`, found);
  };
  return { child, out: () => text.out, err: () => text.err, until, ended };
}

/** A Node of this PATH, outside node_modules, that is older than the program needs; or null. */
export function oldNode(): string | null {
  const folders = (process.env['PATH'] ?? '').split(':').filter((one) => !/node_modules/.test(one));
  for (const folder of [...folders, '/usr/local/bin', '/usr/bin']) {
    const program = join(folder, 'node');
    if (existsSync(program) && majorOf(program) < 24) return program;
  }
  return null;
}

function majorOf(program: string): number {
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' });
  return Number(/^v(\d+)/.exec(version)?.[1] ?? Infinity);
}

/** Resolves when no process has this id any more. Ends it and throws when it takes too long. */
export async function gone(pid: number): Promise<void> {
  try {
    await waiting.until(`the end of process ${pid}`, () => !lives(pid));
  } catch (error) {
    process.kill(pid, 'SIGKILL');
    throw error;
  }
}

/** Ids of the processes that this one started, by /proc. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => statOf(one)?.parent === pid);
}

/** Ids of the processes with this entry in their environment, by /proc. */
export function processesWith(variable: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => environmentOf(pid).includes(variable));
}

/** Empty: the process is over, or belongs to another person. */
function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function lives(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== null && stat.state !== 'Z';
}

function statOf(pid: number): { state: string; parent: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}
