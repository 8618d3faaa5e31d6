/** What is written of a message that may have ended the process, and of ids that were given. */
import type { Single } from '../write/writes.ts';

/** @param alone how often it has run alone */
export function aloneMark(id: string, alone: number): Single {
  const text = 'UPDATE svc.inbox SET alone = $2 WHERE id = $1';
  return { kind: 'single', text, values: [id, alone] };
}

/** They are no suspects any more. */
export function clearedMark(ids: readonly string[]): Single {
  const text = 'UPDATE svc.inbox SET attempts = 0, alone = 0 WHERE id = ANY($1)';
  return { kind: 'single', text, values: [ids] };
}

/** Among the cursors, where no channel has this name. */
const place = "channel = 'svc' AND name = 'last_id'";
export const lastIdKept = `SELECT value COLLATE "C" FROM svc.cursor WHERE ${place}`;

/**
 * So that no id is given again, or an older one, once the newest row is deleted and the clock is
 * set back: ids tell what came before a request.
 */
export function lastIdMark(id: string): Single {
  const text =
    "INSERT INTO svc.cursor AS was (channel, name, value) VALUES ('svc', 'last_id', $1) " +
    'ON CONFLICT (channel, name) DO UPDATE ' +
    'SET value = greatest(was.value COLLATE "C", excluded.value COLLATE "C")';
  return { kind: 'single', text, values: [id] };
}
