/** Marks on messages that may have crashed the process, and the mark of the newest id. */
import type { Single } from '../write/writes.ts';

/** @param alone how often the message has run alone */
export function aloneMark(id: string, alone: number): Single {
  const text = 'UPDATE svc.inbox SET alone = $2 WHERE id = $1';
  return { kind: 'single', text, values: [id, alone] };
}

/** The messages are not suspected any more. */
export function clearedMark(ids: readonly string[]): Single {
  const text = 'UPDATE svc.inbox SET attempts = 0, alone = 0 WHERE id = ANY($1)';
  return { kind: 'single', text, values: [ids] };
}

/** The mark stands among the cursors; no channel has the name `svc`. */
const place = "channel = 'svc' AND name = 'last_id'";
export const lastIdKept = `SELECT value COLLATE "C" FROM svc.cursor WHERE ${place}`;

/**
 * Stores an id as the newest one. A start gives only newer ids, even if the newest row was deleted
 * and the clock was set back. Ids show which messages came before a request.
 */
export function lastIdMark(id: string): Single {
  const text =
    "INSERT INTO svc.cursor AS was (channel, name, value) VALUES ('svc', 'last_id', $1) " +
    'ON CONFLICT (channel, name) DO UPDATE ' +
    'SET value = greatest(was.value COLLATE "C", excluded.value COLLATE "C")';
  return { kind: 'single', text, values: [id] };
}
