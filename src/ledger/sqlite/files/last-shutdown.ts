/**
 * Small files beside the database, by which a process that does not end by a stop tells the next
 * start why. The next start reads and deletes them. Without a file, or with a torn one, the next
 * start takes the end for a crash like any other.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

export type NotedEnd = {
  /** The storage failed: no message is to blame for that end. */
  readonly failed: NotedFailure | null;
  /** An exception that nobody caught ended the process. */
  readonly crashed: NotedCrash | null;
};

export type NotedFailure = {
  /** The number of the message that ran alone just then; null: none did. */
  readonly alone: number | null;
};

export type NotedCrash = {
  /** The last number given. Where the database has a higher one, the note is of an earlier end. */
  readonly lastSeq: number;
  /** The ids of the messages that were being answered: only they can have thrown. */
  readonly atWork: readonly string[];
};

export function noteFailure(path: string, { alone }: NotedFailure): void {
  note(`${path}.failed`, JSON.stringify(alone));
}

export function noteCrash(path: string, crash: NotedCrash): void {
  note(`${path}.crashed`, JSON.stringify(crash) + endMark);
}

export function notedEnd(path: string): NotedEnd {
  return { failed: notedFailure(`${path}.failed`), crashed: notedCrash(`${path}.crashed`) };
}

export function forgetNotedEnd(path: string): void {
  for (const kind of ['failed', 'crashed']) {
    try {
      rmSync(`${path}.${kind}`, { force: true });
    } catch {
      // It is no note of ours, and stops no start.
    }
  }
}

/** Behind all else: a file without it was not written to its end. */
const endMark = '\nend\n';

function notedFailure(file: string): NotedFailure | null {
  const text = textOf(file);
  if (text === null) return null;
  const alone = Number.parseInt(text, 10);
  return { alone: Number.isNaN(alone) ? null : alone };
}

function notedCrash(file: string): NotedCrash | null {
  const text = textOf(file);
  if (text?.endsWith(endMark) !== true) return null;
  try {
    const { lastSeq, atWork } = JSON.parse(text.slice(0, -endMark.length)) as Partial<NotedCrash>;
    return Number.isInteger(lastSeq) && Array.isArray(atWork)
      ? { lastSeq: lastSeq!, atWork: atWork.map(String) }
      : null;
  } catch {
    return null;
  }
}

/** Null: there is none, or none that this user may read. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** The disk may be full, and there is nobody to tell beyond what has been told. */
function note(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600 });
  } catch {
    // Then the end counts as any crash.
  }
}
