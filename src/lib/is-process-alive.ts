/** Whether a process is there, of which an id is all that was written down. */
import { readFileSync } from 'node:fs';

/** Whether any process of this user has that id. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether it has that id and was begun with that word, so that it is no other program, which got
 * the id later. Where the system does not tell words, whether it lives.
 */
export function livesWith(word: string, pid: number): boolean {
  if (!lives(pid) || process.platform !== 'linux') return lives(pid);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word);
  } catch {
    return false;
  }
}
