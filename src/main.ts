import { exitCode, type Io } from './cli/cli.ts';
import { runCommandLine } from './cli/commands.ts';
import { createSecretLookup } from './app/secret-lookup.ts';
import { endProcess, watchThreads } from './cli/frame/exit.ts';
import { listenForSignals } from './cli/frame/signals.ts';

/**
 * The program: arguments → command → exit code. Sets `process.exitCode` and lets the process end by
 * itself. A second after the command's end it ends the process, whatever is still open.
 * @param argv without the program's own name
 */
export async function main(argv: readonly string[]): Promise<void> {
  watchThreads();
  const { stopping, abandoning, onHangUp } = listenForSignals();
  const { stdin, stdout, stderr, env } = process;
  endQuietly(stdout, () => stopping.abort());
  // An error of stderr, on a full disk for example, must not end the service.
  stderr.on('error', () => {});
  const cwd = process.cwd();
  const stop = stopping.signal;
  const abandon = abandoning.signal;
  const secrets = createSecretLookup({ env, cwd, stderr });
  const io: Io = { stdin, stdout, stderr, env, cwd, secrets, stop, abandon, onHangUp };
  // A command may wait only for a deadline, which does not keep the process alive.
  const hold = setInterval(() => {}, 0x7fffffff);
  let code: number = exitCode.failed;
  try {
    code = await runCommandLine(argv, io);
  } catch (error) {
    stderr.write(describeBug(error, /\bdebug\b/.test(argv.join(' '))));
  }
  process.exitCode = code;
  clearInterval(hold);
  endSoon(code);
}

const lingerMs = 1_000;

/**
 * The timer does not keep the process alive, which mostly ends before the timer fires. Waits until
 * the output is written.
 */
function endSoon(code: number): void {
  setTimeout(() => {
    if (process.stdout.writableLength + process.stderr.writableLength > 0) endSoon(code);
    else void endProcess(code);
  }, lingerMs).unref();
}

/** A reader that has gone (`svc … | head`) is not an error, so it gets no message. */
function endQuietly(stream: NodeJS.WriteStream, act: () => void): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || error.code === 'EIO') return act();
    throw error;
  });
}

/** Includes the stack only with the log level debug. */
function describeBug(error: unknown, stack: boolean): string {
  if (stack && error instanceof Error) return `${error.stack}\n`;
  const what = error instanceof Error ? error.message : String(error);
  const hint = 'With --log-level debug it says where.';
  return `svc: something went wrong in svc itself: ${what}\n${hint}\n`;
}
