/** A program that a window is made of: its end, what it said last, and how it is ended. */
import { spawn, type ChildProcess } from 'node:child_process';

export type ChildEnd = {
  /** null: a signal ended it, or it could not be started. */
  readonly code: number | null;
  /** How, as what follows "it": `ended with 1`. */
  readonly how: string;
  /** The end of what it wrote on stderr. */
  readonly said: string;
};

export type WindowChild = {
  readonly pid: number | undefined;
  /** Never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Asks it to end, and ends it where it does not. */
  end(): Promise<void>;
};

const saidCharactersMax = 4_096;
/** How long it may take to end when it is asked to. */
const endsMs = 3_000;
const lastWordsMs = 300;

export function startChild(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): WindowChild {
  let said = '';
  const { promise: ended, resolve } = Promise.withResolvers<ChildEnd>();
  const over = (how: string, code: number | null = null): void => resolve({ code, how, said });
  const child = begin(file, args, env);
  if (child === null) over('could not be started');
  child?.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-saidCharactersMax);
  });
  child?.stderr?.on('error', () => {});
  child?.once('error', () => over('could not be started'));
  child?.once('exit', (code, signal) => {
    const tell = (): void => {
      over(signal === null ? `ended with ${code}` : `was ended by ${signal}`, code);
    };
    child.once('close', tell);
    // A process that it began may outlive it, and holds what it wrote to.
    setTimeout(tell, lastWordsMs);
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
