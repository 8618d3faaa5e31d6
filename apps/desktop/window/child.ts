/** A child process of a window: its start, its end, and the last text that it wrote. */
import { spawn, type ChildProcess } from 'node:child_process';

export type ChildEnd = {
  /** null: a signal ended it, or it could not be started. */
  readonly code: number | null;
  /** How it ended, as the words after "it": `ended with 1`. */
  readonly how: string;
  /** The last text of its standard error. */
  readonly stderr: string;
};

export type WindowChild = {
  readonly pid: number | undefined;
  /** Never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Asks the process to end, and kills it after `endsMs`. */
  end(): Promise<void>;
};

const stderrCharactersMax = 4_096;
/** How long the process may take to end after the request. */
const endsMs = 3_000;
const lastOutputMs = 300;

export function startChild(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): WindowChild {
  let stderr = '';
  const { promise: ended, resolve } = Promise.withResolvers<ChildEnd>();
  const settle = (how: string, code: number | null = null): void => resolve({ code, how, stderr });
  const child = begin(file, args, env);
  if (child === null) settle('could not be started');
  child?.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrCharactersMax);
  });
  child?.stderr?.on('error', () => {});
  child?.once('error', () => settle('could not be started'));
  child?.once('exit', (code, signal) => {
    const report = (): void => {
      settle(signal === null ? `ended with ${code}` : `was ended by ${signal}`, code);
    };
    // The next start must find that the person closed the window. Only a failure needs its words.
    if (code === 0) return report();
    child.once('close', report);
    // A grandchild may live longer and keep the pipe of standard error open.
    setTimeout(report, lastOutputMs);
  });
  return {
    pid: child?.pid,
    ended,
    end: async () => {
      child?.kill('SIGTERM');
      const timer = setTimeout(() => child?.kill('SIGKILL'), endsMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function begin(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess | null {
  try {
    return spawn(file, args, { env: { ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch {
    return null;
  }
}
