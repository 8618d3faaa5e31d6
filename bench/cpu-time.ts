/** Reads the CPU time of a process. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ticksPerSecond = 100;

/**
 * The CPU seconds of a process and its threads, to the nanosecond where the kernel counts so. The
 * first field of schedstat is nanoseconds (sched-stats.rst of the Linux kernel). The sum may lack
 * the last tick, some milliseconds, of a running thread, and lacks ended threads.
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
 * The CPU seconds of a PostgreSQL server: its first process and all children, even ended ones.
 * @param folder the server's data folder
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

/** The same, with the children that ended and that it waited for: 16 and 17. */
function timesOf(pid: number): readonly number[] {
  return fieldsOf(pid).slice(11, 15).map(Number);
}

/** The fields from the third on: the second, a name in brackets, may hold blanks. */
function fieldsOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
