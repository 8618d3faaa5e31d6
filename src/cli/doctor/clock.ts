import { length, localTime } from '../ledger/table.ts';
import { failed, ok, type PreflightLine } from '../../app/preflight/lines.ts';

/** How far a correction of the clock may step it without being a fault. */
const slackMs = 1_000;

/**
 * A clock that is behind puts new messages before old ones, and lets what expires live on.
 * @param times milliseconds since 1970; `newestAt` of the newest message stored, null: none
 */
export function clockLine({
  now,
  newestAt,
  versionAt,
}: {
  readonly now: number;
  readonly newestAt: number | null;
  readonly versionAt: number;
}): PreflightLine {
  const remedy = 'Set the clock, and let it be kept right (NTP).';
  if (now < versionAt) {
    return failed('clock', `${localTime(now)} is before this version was made`, remedy);
  }
  if (newestAt !== null && now + slackMs < newestAt) {
    const message = `is ${length(newestAt - now)} behind the newest message stored`;
    return failed('clock', message, remedy);
  }
  return ok('clock', `${localTime(now)}, as far as can be told from here`);
}
