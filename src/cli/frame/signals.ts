/**
 * Turns signals into one abort, and hang-ups into what a command makes of them. A signal may reach
 * this process directly, through the launcher in bin/svc.js, or both ways at once; a signal that
 * comes both ways ends a process once. The end of the npm that started it counts as a
 * SIGTERM; that of the launcher, which only a kill brings about, as two, and what does not close
 * is not waited for. So a kill of theirs leaves nothing behind.
 *
 * running → stopping (the first signal) → ended (the second one, at once; a hang-up is none)
 *
 * A hang-up (SIGHUP) means two things. Where a terminal is the standard input, it is closing, and
 * that stops every command. A process without one lives on its own: a command that wants to be told
 * of hang-ups is told, and goes on; any other stops. It is told twice of a hang-up that comes both
 * ways: to read the file once too often does no harm, and once too seldom leaves an edit unread.
 */
import { isatty } from 'node:tty';
import { constants } from 'node:os';
import { endProcess } from './exit.ts';
import { readFileSync } from 'node:fs';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type Name = (typeof names)[number];
type Way = 'direct' | 'passed';
type Came = (signal: Name, way: Way) => void;

/**
 * Counts apart what comes directly and what is passed on: the larger number is the true one. That
 * is good enough for signals that end a process, of which only the first two matter.
 */
class SignalCount {
  readonly #direct = new Map<Name, number>();
  readonly #passed = new Map<Name, number>();
  readonly #act: (signal: Name) => void;

  constructor(act: (signal: Name) => void) {
    this.#act = act;
  }

  came(signal: Name, way: Way): void {
    const here = way === 'direct' ? this.#direct : this.#passed;
    const there = way === 'direct' ? this.#passed : this.#direct;
    const count = (here.get(signal) ?? 0) + 1;
    here.set(signal, count);
    if (count > (there.get(signal) ?? 0)) this.#act(signal);
  }
}

export type Signals = {
  /** Aborts at the first signal. */
  readonly stopping: AbortController;
  /** Aborts at the second signal, which ends the process, and at the end of the launcher. */
  readonly abandoning: AbortController;
  /** From now on a hang-up without a terminal calls this, and stops nothing. */
  readonly onHangUp: (act: () => void) => void;
};

/**
 * How long a program without its launcher may close what it has open. With the half second that
 * `endProcess` may take, it is gone within a second.
 */
const orphanMs = 400;

/** Listens for the end of this process's time. */
export function listenForSignals(): Signals {
  const [stopping, abandoning] = [new AbortController(), new AbortController()];
  let hangUp: (() => void) | null = null;
  const count = new SignalCount((signal) => {
    if (!stopping.signal.aborted) return stopping.abort();
    // A terminal that closes may say so as often as it likes; nobody is impatient.
    if (signal === 'SIGHUP') return;
    abandoning.abort();
    // The person has asked twice: whatever a library still does is not waited for.
    void endProcess(128 + constants.signals[signal]);
  });
  const endSoon = (): void => {
    stopping.abort();
    abandoning.abort();
    setTimeout(() => void endProcess(128 + constants.signals.SIGKILL), orphanMs).unref();
  };
  const came: Came = (signal, way) => {
    if (signal === 'SIGHUP' && hangUp !== null) hangUp();
    else count.came(signal, way);
  };
  for (const name of names) process.on(name, () => came(name, 'direct'));
  if (process.env['SVC_LAUNCHED'] === '1') heedLauncher(came, endSoon);
  if (process.env['npm_lifecycle_event'] !== undefined) handleNpm(() => stopping.abort());
  const onHangUp = (act: () => void): void => {
    // Windows sends SIGHUP when a console closes, and ends the process soon after.
    if (process.platform !== 'win32' && !isatty(0)) hangUp = act;
  };
  return { stopping, abandoning, onHangUp };
}

/** @param left the launcher is gone */
function heedLauncher(came: Came, left: () => void): void {
  delete process.env['SVC_LAUNCHED'];
  process.on('message', (message: unknown) => {
    const signal = (message as { signal?: unknown } | null)?.signal;
    const known = names.find((name) => name === signal);
    if (known !== undefined) came(known, 'passed');
  });
  process.on('disconnect', left);
  if (process.connected) {
    // The listeners above would hold the process open, and the channel alone is to hold nothing.
    process.channel?.unref();
  } else {
    left();
  }
}

/**
 * npm runs a script as npm → sh → program, or npm → sh → launcher → program, and hands signals
 * down. It cannot hand down SIGKILL, and the others would stay behind. So a program that npm
 * started looks every second whether that npm is still above it. It reads /proc, and does nothing
 * on systems that have none.
 */
const lookEveryMs = 1000;

/** @param gone called once, when the npm that started this process has ended */
function handleNpm(gone: () => void): void {
  const npm = npmAbove();
  if (npm === null) return;
  const timer = setInterval(() => {
    if (npmAbove() === npm) return;
    clearInterval(timer);
    gone();
  }, lookEveryMs);
  timer.unref();
}

/** The id of the npm at most three steps above this process, or null. */
function npmAbove(): number | null {
  let id = process.ppid;
  for (let step = 1; step <= 3; step++) {
    const found = lookUp(id);
    if (found === null || found.isNpm) return found && id;
    id = found.parentId;
  }
  return null;
}

/** Format of /proc/<id>/stat: proc_pid_stat(5), `id (name) state parent …`. */
function lookUp(id: number): { readonly isNpm: boolean; readonly parentId: number } | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { isNpm: stat.includes('(npm'), parentId: Number(parent) };
  } catch {
    return null;
  }
}
