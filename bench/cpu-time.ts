/** How much CPU time a process has had. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ticksPerSecond = 100;

/**
 * Seconds of CPU of a process and its threads, to the nanosecond where the kernel counts so: the
 * first field of schedstat is nanoseconds (sched-stats.rst of the Linux kernel). Of a thread that
 * runs just now the last tick, of some milliseconds, may be missing; one that has ended is no
 * longer in the sum.
 * @throws when the process has ended
 */
export function cpuSecondsOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + threadNs(`/proc/${pid}/task/${thread}`), 0) / 1e9;
  } catch {
    return ticksOf(pid) / ticksPerSecond;
  }
}

/**
 * Of a PostgreSQL server: its first process, and those that it has begun, also when they have
 * ended since.
 * @param folder where the server has its data
 */
export function serverCpuSecondsOf(folder: string): number {
  const main = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const own = children.filter((name) => parentOf(Number(name)) === main).map(Number);
  const [, , ended, endedInKernel] = timesOf(main);
  const living = [main, ...own].reduce((sum, pid) => sum + (secondsOrNone(pid) ?? 0), 0);
  return living + (ended! + endedInKernel!) / ticksPerSecond;
}

function secondsOrNone(pid: number): number | null {
  try {
    return cpuSecondsOf(pid);
  } catch {
    return null;
  }
}

function parentOf(pid: number): number | null {
  try {
    return Number(fieldsOf(pid)[1]);
  } catch {
    return null;
  }
}

function threadNs(folder: string): number {
  return Number(readFileSync(`${folder}/schedstat`, 'latin1').split(' ')[0]);
}

/** User and system time of a process and its threads, in ticks: proc_pid_stat(5), 14 and 15. */
function ticksOf(pid: number): number {
  const [user, system] = timesOf(pid);
  return user! + system!;
}

/** As above, and that of children that have ended and were waited for: 16 and 17. */
function timesOf(pid: number): readonly number[] {
  return fieldsOf(pid).slice(11, 15).map(Number);
}

/** From the third on: the second, its name in brackets, may hold blanks. */
function fieldsOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
