/**
 * Writes to the terminal of a stream without ever waiting for it. Node writes to a terminal with
 * calls that wait, and one that a person has stopped (Ctrl-S) would stop the whole service. So the
 * terminal is opened once more, and what it does not take at once is left out.
 */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { WriteStream } from 'node:tty';
import type { Io } from '../cli.ts';

export type TerminalOutlet = Disposable & { write(text: string): void };

export function openTerminalOutlet(stream: Io['stdout']): TerminalOutlet {
  const fd = stream instanceof WriteStream ? openOwn(fdOf(stream)) : null;
  if (fd === null) {
    return { write: (text) => void stream.write(text), [Symbol.dispose]: () => {} };
  }
  return {
    write(text) {
      try {
        writeSync(fd, text);
      } catch {
        // It is stopped, or gone.
      }
    },
    [Symbol.dispose]: () => closeSync(fd),
  };
}

/** Its type leaves it out: https://nodejs.org/api/process.html#processstdoutfd */
function fdOf(stream: WriteStream): number {
  return (stream as WriteStream & { readonly fd: number }).fd;
}

/** Null: it cannot be opened once more. Windows waits for no terminal, and has no such flag. */
function openOwn(fd: number): number | null {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  if (process.platform === 'win32') return null;
  const path = process.platform === 'linux' ? `/proc/self/fd/${fd}` : '/dev/tty';
  try {
    return openSync(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return null;
  }
}
