/** The problems of a database: why it cannot be used, and what a person can do about it. */
import { describeHolder } from '../../../lib/holders.ts';
import type { StoreProblem } from '../../ledger.ts';
import { holderOfLock, sqliteBusy } from './database-files.ts';

const noRight = {
  code: 'storage_read_only',
  sentence: 'cannot be written; give this user the right to, or name another storage.path',
};
const full = { code: 'storage_full', sentence: 'stands on a full disk; make room' };
const noFolder = {
  code: 'storage_unreachable',
  sentence: 'cannot be made, since a part of its path is no folder; name another storage.path',
};
const noFiles = {
  code: 'storage_unusable',
  sentence: 'cannot be opened, since this process may open no more files; raise ulimit -n',
};

/** The system's errors for the files, before SQLite has opened them. */
const bySystem: Readonly<Record<string, { readonly code: string; readonly sentence: string }>> = {
  EACCES: noRight,
  EPERM: noRight,
  EROFS: noRight,
  ENOENT: {
    code: 'storage_unreachable',
    sentence:
      'cannot be made, nor its folder; give this user the right to write there, or name another ' +
      'storage.path',
  },
  ENOTDIR: noFolder,
  EEXIST: noFolder,
  ENOSPC: full,
  EDQUOT: full,
  EMFILE: noFiles,
  ENFILE: noFiles,
};

/** SQLite's code for a disk without room (its ENOSPC), or a database as large as it may be. */
export const sqliteFull = 13;

const byErrcode: Readonly<Record<number, { readonly code: string; readonly sentence: string }>> = {
  [sqliteBusy]: {
    code: 'storage_locked',
    sentence: 'is locked by another program, which writes there; end that one first',
  },
  8: { code: 'storage_read_only', sentence: 'cannot be written; give this user the right to' },
  10: { code: 'storage_io', sentence: 'could not be read or written; look after the disk' },
  11: { code: 'storage_damaged', sentence: 'is damaged; restore a backup, or move it away' },
  13: full,
  14: {
    code: 'storage_unreachable',
    sentence: 'cannot be opened; check the folder and its rights',
  },
  26: { code: 'storage_foreign', sentence: 'is no SQLite database; name another storage.path' },
};

/** @param fault the error from opening it, in this thread or in the writer's */
export function problemOf(
  path: string,
  fault: {
    readonly errcode?: number;
    readonly code?: string | undefined;
    readonly message: string;
  },
): StoreProblem {
  const known = byErrcode[(fault.errcode ?? 0) & 0xff] ?? bySystem[fault.code ?? ''];
  if (known !== undefined) return problem(known.code, `The database ${path} ${known.sentence}.`);
  if (fault.message.startsWith('NewerSchema')) {
    const what = `The database ${path} was written by a newer svc; run that one, or a newer one.`;
    return problem('storage_newer', what);
  }
  if (fault.message.startsWith('ForeignDatabase')) {
    const what = `The database ${path} belongs to another program; name another storage.path.`;
    return problem('storage_foreign', what);
  }
  return problem('storage_unusable', `The database ${path} cannot be used: ${fault.message}.`);
}

export function lockedProblem(path: string): StoreProblem {
  return problem(
    'storage_locked',
    `The database ${path} is in use by another svc${describeHolder(holderOfLock(path))}. ` +
      'Stop that one, or name another storage.path.',
  );
}

export function missingProblem(path: string): StoreProblem {
  return problem(
    'storage_missing',
    `There is no database at ${path}. svc makes it when it first runs with storage.`,
  );
}

/** Only the service itself upgrades a database. */
export function olderProblem(path: string): StoreProblem {
  return problem(
    'storage_older',
    `The database ${path} was written by an older svc. Run this one on it once, then ask again.`,
  );
}

/**
 * Problems that may be gone at a restart: the disk may be well again, or the other program ended.
 */
const passing = new Set(['storage_io', 'storage_full', 'storage_locked', 'storage_unusable']);

function problem(code: string, message: string): StoreProblem {
  return { kind: 'problem', code, message, isPassing: passing.has(code) };
}
