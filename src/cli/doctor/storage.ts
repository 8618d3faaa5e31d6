import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { examineStorage, roomOfDisk } from '../../app/storage.ts';
import { forShell } from '../../lib/for-shell.ts';
import { describeHolder } from '../../lib/holders.ts';
import { bytesText } from '../ledger/table.ts';
import { failed, ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';

type Examination = Awaited<ReturnType<typeof examineStorage>>;
type Room = Pick<Examined, 'freeBytes' | 'freeBytesMin'>;
type Examined = Extract<Examination, { readonly kind: 'examined' }>;

/** On the disk where the database is to be made: that of the nearest folder that is there. */
async function roomAt(path: string): Promise<Room | null> {
  const folder = dirname(path);
  if (!existsSync(folder)) return folder === path ? null : roomAt(folder);
  return roomOfDisk(folder);
}

/** @returns null without storage, and where no database has been made yet */
export async function examinePlace(path: string | null): Promise<Examination | null> {
  return path === null || !existsSync(path) ? null : examineStorage(path);
}

/** What the examination of the database came to; before there is one, whether it has room. */
export async function storageLines(
  path: string | null,
  examination: Examination | null,
): Promise<readonly PreflightLine[]> {
  if (path === null) return [];
  if (examination === null) {
    const room = await roomAt(path);
    return room === null ? [] : [diskLine(room)];
  }
  if (examination.kind === 'problem') {
    const remedy = 'Nothing else of the database could be looked at.';
    return [failed('database', examination.message, remedy)];
  }
  return [
    soundLine(examination),
    ownerLine(examination),
    rightsLine(examination),
    diskLine(examination),
  ];
}

function soundLine({ damage, stepsBehind, bytes }: Examined): PreflightLine {
  if (damage !== null) {
    const remedy = 'Stop svc, move the file away, and put a backup in its place.';
    return failed('database', `is damaged: ${damage}`, remedy);
  }
  const size = bytesText(bytes);
  if (stepsBehind === 0) return ok('database', `is sound, and of this version (${size})`);
  const message = `is sound (${size}), and was written by an older svc`;
  return warning('database', message, 'Nothing to do: the next start brings it up to date.');
}

function ownerLine({ owned, ownerPid, unclean }: Examined): PreflightLine {
  if (owned) return ok('owner', `a running svc${describeHolder(ownerPid)} holds the database`);
  if (!unclean) return ok('owner', 'no svc holds the database; the last one closed it');
  const message =
    'no svc holds the database, and the last one ended without closing it, or this is a backup';
  return warning('owner', message, 'Nothing to do: the next start recovers what was accepted.');
}

function rightsLine({ openFiles }: Examined): PreflightLine {
  if (openFiles.length === 0) return ok('rights', 'only the owner may read the database');
  const message = `other users of this machine may use ${openFiles.join(', ')}`;
  return warning('rights', message, `Run chmod go-rwx ${openFiles.map(forShell).join(' ')}`);
}

export function diskLine({ freeBytes, freeBytesMin }: Room): PreflightLine {
  const least = bytesText(freeBytesMin);
  const message = `${bytesText(freeBytes)} are free; below ${least} nothing new is accepted`;
  const remedy = 'Make room on the disk that holds the database.';
  if (freeBytes < freeBytesMin) return failed('disk', message, remedy);
  return freeBytes < 4 * freeBytesMin ? warning('disk', message, remedy) : ok('disk', message);
}
