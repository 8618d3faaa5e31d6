/**
 * Turns signals into one abort, and a hang-up into the action that the command chose.
 *
 * running → stopping (the first signal) → ended (the second one, at once; a hang-up is none)
 *
 * A signal may reach this process directly, through the launcher in bin/svc.js, or both ways at
 * once; then it counts once. The end of the npm that started svc counts as a SIGTERM. Only a kill
 * ends the launcher alone: that counts as two signals, and svc does not wait for what does not
 * close. So the kill of either leaves nothing behind.
 *
 * A hang-up (SIGHUP) means two things. If standard input is a terminal, the terminal is closing,
 * and every command stops. A process without a terminal lives on its own: a command that wants
 * hang-ups gets them and goes on; any other command stops. A hang-up that comes both ways is
 * delivered twice. To read the file once too often does no harm; once too seldom leaves an edit
 * unread.
 */
import { isatty } from 'node:tty';
import { constants } from 'node:os';
import { endProcess } from './exit.ts';
import { readFileSync } from 'node:fs';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type Name = (typeof names)[number];
type Way = 'direct' | 'passed';
type OnSignal = (signal: Name, way: Way) => void;

/**
 * Counts direct signals and passed-on signals separately: the larger number is the true one. That
 * is good enough for signals that end a process, since only the first two matter.
 */
class SignalCount {
  readonly #direct = new Map<Name, number>();
  readonly #passed = new Map<Name, number>();
  readonly #act: (signal: Name) => void;

  constructor(act: (signal: Name) => void) {
    this.#act = act;
  }

  receive(signal: Name, way: Way): void {
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
  /** Sets the function that a hang-up without a terminal calls; the hang-up then stops nothing. */
  readonly onHangUp: (act: () => void) => void;
};

/**
 * How long a program without its launcher may take to close. With the half second that `endProcess`
 * may take, it is gone within a second.
 */
const orphanMs = 400;

/** Listens for the signals that end this process. */
export function listenForSignals(): Signals {
  const stopping = new AbortController();
  const abandoning = new AbortController();
  let hangUp: (() => void) | null = null;
  const count = new SignalCount((signal) => {
    if (!stopping.signal.aborted) return stopping.abort();
    // A closing terminal may send this more than once; no person asks for a quick end.
    if (signal === 'SIGHUP') return;
    abandoning.abort();
    // The person asked twice, so svc does not wait for the work of any library.
    void endProcess(128 + constants.signals[signal]);
  });
  const endSoon = (): void => {
    stopping.abort();
    abandoning.abort();
    setTimeout(() => void endProcess(128 + constants.signals.SIGKILL), orphanMs).unref();
  };
  const receive: OnSignal = (signal, way) => {
    if (signal === 'SIGHUP' && hangUp !== null) hangUp();
    else count.receive(signal, way);
  };
  for (const name of names) process.on(name, () => receive(name, 'direct'));
  if (process.env['SVC_LAUNCHED'] === '1') receiveFromLauncher(receive, endSoon);
  if (process.env['npm_lifecycle_event'] !== undefined) watchNpm(() => stopping.abort());
  const onHangUp = (act: () => void): void => {
    // Windows sends SIGHUP when a console closes, and ends the process soon after.
    if (process.platform !== 'win32' && !isatty(0)) hangUp = act;
  };
  return { stopping, abandoning, onHangUp };
}

/**
 * Receives the signals that the launcher passes on.
 * @param onGone the launcher is gone
 */
function receiveFromLauncher(onSignal: OnSignal, onGone: () => void): void {
  delete process.env['SVC_LAUNCHED'];
  process.on('message', (message: unknown) => {
    const signal = (message as { signal?: unknown } | null)?.signal;
    const known = names.find((name) => name === signal);
    if (known !== undefined) onSignal(known, 'passed');
  });
  process.on('disconnect', onGone);
  if (process.connected) {
    // The listeners above would hold the process open, but the channel must not do that.
    process.channel?.unref();
  } else {
    onGone();
  }
}

const npmCheckMs = 1000;

/**
 * Watches the npm that started this process. npm runs a script as npm → sh → program, or npm → sh →
 * launcher → program, and hands signals down. It cannot hand down SIGKILL, and then the others
 * would stay behind. So this looks every second whether that npm is still above this process. It
 * reads /proc, and does nothing on systems without it.
 * @param onGone called once, when that npm has ended
 */
function watchNpm(onGone: () => void): void {
  const npm = npmAbove();
  if (npm === null) return;
  const timer = setInterval(() => {
    if (npmAbove() === npm) return;
    clearInterval(timer);
    onGone();
  }, npmCheckMs);
  timer.unref();
}

/** @returns the id of the npm at most three steps above this process, or null */
function npmAbove(): number | null {
  let id = process.ppid;
  for (let step = 1; step <= 3; step++) {
    const ancestor = readProcess(id);
    if (ancestor === null || ancestor.isNpm) return ancestor && id;
    id = ancestor.parentId;
  }
  return null;
}

/** Format of /proc/<id>/stat: proc_pid_stat(5), `id (name) state parent …`. */
function readProcess(id: number): { readonly isNpm: boolean; readonly parentId: number } | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { isNpm: stat.includes('(npm'), parentId: Number(parent) };
  } catch {
    return null;
  }
}
