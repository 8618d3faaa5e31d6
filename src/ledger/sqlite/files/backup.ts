/**
 * Backs up a database as it is at one moment, even while a service writes it. VACUUM INTO reads in
 * one transaction and holds up no writer. The copy holds no deleted rows.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { applicationId } from './migrations.ts';
import type { StoreProblem } from '../../ledger.ts';
import { problemOf } from './problem.ts';

export type BackedUp = {
  readonly kind: 'backed_up';
  readonly bytes: number;
  /** The messages in the copy, settled ones included. */
  readonly messages: number;
};

/**
 * Copies a database. The copy appears only when it is whole, checked and synced. An existing file
 * is never replaced.
 * @param path absolute
 * @param target absolute
 */
export function backUp(path: string, target: string): BackedUp | StoreProblem {
  const part = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.part`);
  try {
    closeSync(openSync(part, 'wx', 0o600));
  } catch (error) {
    return targetProblem(`No file can be made in ${dirname(target)} (${codeOf(error)})`);
  }
  try {
    const taken = [target, `${target}-wal`, `${target}-journal`].find((file) => isThere(file));
    if (taken !== undefined) return targetProblem(`There is a file ${taken} already`);
    const problem = copy(path, part);
    if (problem !== null) return problem;
    const messages = check(part);
    if (messages === null) return problemOf(part, { errcode: damaged, message: '' });
    syncFile(part);
    const { size: bytes } = statSync(part);
    if (!settle(part, target)) return targetProblem(`There is a file ${target} already`);
    syncFile(dirname(target));
    return { kind: 'backed_up', bytes, messages };
  } catch (error) {
    return problemOf(target, error as Error);
  } finally {
    rmSync(part, { force: true });
    rmSync(`${part}-journal`, { force: true });
  }
}

const damaged = 11;
const busyMs = 5_000;

/** Copies into an empty file, whose rights are set before it contains any text. */
function copy(path: string, part: string): StoreProblem | null {
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
    const owner = Number(db.prepare('PRAGMA application_id').get()?.['application_id']);
    if (owner !== applicationId) return problemOf(path, { message: 'ForeignDatabase' });
    db.prepare('VACUUM INTO ?').run(part);
    return null;
  } catch (error) {
    return problemOf(path, error as Error);
  }
}

/** @returns how many messages the copy holds; null when it is damaged */
function check(part: string): number | null {
  using db = new DatabaseSync(part, { readOnly: true });
  const [found] = Object.values(db.prepare('PRAGMA integrity_check(1)').get() ?? {});
  if (found !== 'ok') return null;
  return Number(db.prepare('SELECT count(*) AS n FROM inbox').get()?.['n']);
}

/**
 * Gives the copy its name.
 * @returns false when another file has taken the name meanwhile
 */
export function settle(part: string, target: string): boolean {
  try {
    linkSync(part, target);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    // The file system has no hard links. A moment ago no file had the name.
    if (isThere(target)) return false;
    renameSync(part, target);
    return true;
  }
}

/** Syncs a file, or a folder and thereby the names in it. Windows cannot sync a folder. */
export function syncFile(file: string): void {
  const isFolder = statSync(file).isDirectory();
  if (isFolder && process.platform === 'win32') return;
  const handle = openSync(file, isFolder ? 'r' : 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** A broken link counts as a file too. */
function isThere(file: string): boolean {
  return existsSync(file) || lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

function targetProblem(what: string): StoreProblem {
  const message = `${what}; name another file for the backup.`;
  return { kind: 'problem', code: 'backup_target', message, isPassing: false };
}
