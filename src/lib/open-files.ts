/**
 * How many files a process may have open; each connection is one. Where a listener runs out of
 * them, libuv closes what comes without a word to anybody: so it takes fewer connections than that.
 */
import { readFileSync } from 'node:fs';
import type { HttpClient } from './http-client.ts';

/** So many, and nothing that svc does at once is held up. */
export const openFilesMin = 4_096;

/** For the program itself: its code, its database, its log. */
const ownFiles = 48;

/**
 * @param pid left out: of this process
 * @returns null: this system does not tell. Format: proc_pid_limits(5)
 */
export function openFilesMax(pid: number | 'self' = 'self'): number | null {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    const max = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return max === undefined ? null : Number(max);
  } catch {
    return null;
  }
}

/** How many connections each of two listeners may have, so that as many go out as come in. */
export function connectionsWithin(openFiles: number): number {
  return Math.max(4, Math.floor((openFiles - ownFiles) / 4));
}

/** The same client. @param told is called whenever it could open no connection for want of files */
export function watchedForFiles(http: HttpClient, told: () => void): HttpClient {
  return {
    async send(request, stop) {
      const result = await http.send(request, stop);
      if (result.kind === 'fault' && (result.code === 'EMFILE' || result.code === 'ENFILE')) told();
      return result;
    },
    close: () => http.close(),
  };
}
