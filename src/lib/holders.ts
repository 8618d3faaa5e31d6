/**
 * The processes that hold a file or a port, read from /proc on Linux. On other systems, and for
 * processes of other users, the result is null. Format: proc_pid_fd(5), proc_pid_net(5),
 * proc_locks(5).
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';

/** The id of another process that has the file open; null: none is known. */
export function holderOfFile(path: string): number | null {
  const real = readOrNull(() => realpathSync(path));
  return real === null ? null : processWith((link) => link === real);
}

/**
 * The id of another process that has locked this byte of the file for writing; null: unknown. A
 * row: number, POSIX, ADVISORY, WRITE, process, device and inode, first byte, last byte.
 */
export function lockerOfByte(path: string, byte: number): number | null {
  const inode = readOrNull(() => statSync(path).ino);
  if (inode === null) return null;
  const text = readOrNull(() => readFileSync('/proc/locks', 'utf8')) ?? '';
  for (const line of text.split('\n')) {
    const [, kind, , mode, pid, file, first, last] = line.trim().split(/\s+/);
    if (kind !== 'POSIX' || mode !== 'WRITE' || file?.split(':')[2] !== String(inode)) continue;
    if (Number(first) > byte || byte > (last === 'EOF' ? Infinity : Number(last))) continue;
    const found = Number(pid);
    if (found > 0 && found !== process.pid) return found;
  }
  return null;
}

/** The id of the process that listens on the TCP port, at any address; null: unknown. */
export function holderOfPort(port: number): number | null {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => listenersIn(table, port)));
  return inodes.size === 0 ? null : processWith((link) => inodes.has(link));
}

/** ` (process 42)`, to follow the name of the file or port; empty if the holder is unknown. */
export function describeHolder(pid: number | null): string {
  return pid === null ? '' : ` (process ${pid})`;
}

/** A row: number, local address and port in hex, remote, state (0A: listens), …, inode the 10th. */
function listenersIn(table: string, port: number): readonly string[] {
  const text = readOrNull(() => readFileSync(`/proc/net/${table}`, 'utf8')) ?? '';
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((row) => row[3] === '0A' && row[1]?.endsWith(wanted) === true)
    .map((row) => `socket:[${row[9]}]`);
}

function processWith(matches: (link: string) => boolean): number | null {
  const pids = (readOrNull(() => readdirSync('/proc')) ?? []).filter((name) => /^\d+$/.test(name));
  const found = pids.map(Number).find((pid) => pid !== process.pid && linksOf(pid).some(matches));
  return found ?? null;
}

/** The targets of its file descriptors; empty: it has ended, or belongs to another user. */
function linksOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  const names = readOrNull(() => readdirSync(folder)) ?? [];
  return names.flatMap((name) => readOrNull(() => readlinkSync(`${folder}/${name}`)) ?? []);
}

function readOrNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

// Whether a process exists, for callers that stored only its id.

/** Whether a process of this user has this id. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a process has this id and this word in its command line. So another program that got the
 * id later does not count. If the system does not show command lines: whether the process lives.
 */
export function isProcessAliveWith(word: string, pid: number): boolean {
  if (!isProcessAlive(pid) || process.platform !== 'linux') return isProcessAlive(pid);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word);
  } catch {
    return false;
  }
}
