/**
 * What hangs on messages, looked for one message at a time: of many at once the planner thinks that
 * the whole table is read faster. The messages are called `given`, with their ids.
 */

/** Those of $1, an array of ids. */
export const given = 'unnest($1::text[] COLLATE "C") AS given(id)';

export function rowsOf(table: string, columns: string, messages: string): string {
  return (
    `SELECT one.* FROM ${messages} CROSS JOIN LATERAL (` +
    `SELECT ${columns} FROM svc.${table} WHERE message_id = given.id OFFSET 0) AS one`
  );
}

export function deleteOf(table: 'tool_use' | 'tool_call', messages: string): string {
  return `DELETE FROM svc.${table} WHERE key = ANY(ARRAY(${rowsOf(table, 'key', messages)}))`;
}

/** By their place on the disk, which does not change: nothing is ever written over them. */
export function deleteAttachmentsOf(messages: string): string {
  const found = rowsOf('attachment', 'ctid', messages);
  return `DELETE FROM svc.attachment WHERE ctid = ANY(ARRAY(${found}))`;
}
