/**
 * npm runs a script as npm → sh → program, or npm → sh → launcher → program, and hands signals
 * down. It cannot hand down SIGKILL, and the others would stay behind. So a program that npm
 * started looks every second whether that npm is still above it. It reads /proc, and does nothing
 * on systems that have none.
 */
import { readFileSync } from 'node:fs';

const lookEveryMs = 1000;

/** @param gone called once, when the npm that started this process has ended */
export function handleNpm(gone: () => void): void {
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
