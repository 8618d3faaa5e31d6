import { connectionsWithin, openFilesMax, openFilesMin } from '../../lib/open-files.ts';
import { ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';

/**
 * How many files, and so connections, svc may have open; nothing where the system does not tell.
 * @param ownerPid of the running svc, which may have another limit; null: one that starts here
 */
export function openFilesLines(ownerPid: number | null): readonly PreflightLine[] {
  const max = (ownerPid === null ? null : openFilesMax(ownerPid)) ?? openFilesMax();
  return max === null ? [] : [openFilesLine(max)];
}

export function openFilesLine(max: number): PreflightLine {
  if (max >= openFilesMin) return ok('open files', `${max} may be open at once`);
  const message =
    `only ${max} may be open at once, so only ${connectionsWithin(max)} connections are taken at ` +
    'each address';
  const remedy = `Let svc have ${openFilesMin} or more: ulimit -n, or LimitNOFILE= of its service.`;
  return warning('open files', message, remedy);
}
