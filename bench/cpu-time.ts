/** How much CPU time a process has had. */
import { readdirSync, readFileSync } from 'node:fs';

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

function threadNs(folder: string): number {
  return Number(readFileSync(`${folder}/schedstat`, 'latin1').split(' ')[0]);
}

/** User and system time of a process and its threads, in ticks: proc_pid_stat(5), 14 and 15. */
function ticksOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
