/** Finds the process of a connection, by /proc. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const inodeField = 9;

/**
 * @param port the process's port of the connection, on this machine
 * @param toPort the port of the other side
 * @param pids the processes to search
 * @returns null: none of them has it, or not any more
 */
export function ownerOf(port: number, toPort: number, pids: readonly number[]): number | null {
  const inode = inodeOf(port, toPort);
  if (inode === null) return null;
  return pids.find((pid) => filesOf(pid).includes(`socket:[${inode}]`)) ?? null;
}

/** proc_pid_net(5): the addresses are hexadecimal. */
function inodeOf(port: number, toPort: number): string | null {
  const [from, to] = [port, toPort].map((one) => one.toString(16).toUpperCase().padStart(4, '0'));
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    if (fields[1]?.endsWith(`:${from}`) === true && fields[2]?.endsWith(`:${to}`) === true) {
      return fields[inodeField] ?? null;
    }
  }
  return null;
}

function filesOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((name) => linkOf(`/proc/${pid}/fd/${name}`));
  } catch {
    // The process has ended.
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
