/**
 * Every write of the journal, by name. The main thread sends `[name, ...values]`; the writer runs
 * the statement of that name. Values are numbers, texts and nulls, in the order of the question
 * marks.
 */
export const statements = {
  accept:
    'INSERT INTO inbox (seq, id, channel, conversation, accepted_at, body) ' +
    'VALUES (?, ?, ?, ?, ?, ?)',
  inboxSettled: 'UPDATE inbox SET state = 1, settled_at = ? WHERE seq = ?',
  inboxDead: 'UPDATE inbox SET state = 2, settled_at = ?, failure = ? WHERE seq = ?',
  inboxTried: 'UPDATE inbox SET attempts = ? WHERE seq = ?',
  turn:
    'INSERT INTO turns (channel, conversation, session, seq, at, sender, text, reply) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  cut:
    'INSERT OR REPLACE INTO cuts (channel, conversation, session, at, reason) ' +
    'VALUES (?, ?, ?, ?, ?)',
  conversation:
    'INSERT INTO conversations (channel, conversation, session, started_at, previous_at) ' +
    'VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET session = excluded.session, ' +
    'started_at = excluded.started_at, previous_at = excluded.previous_at',
  reply:
    'INSERT INTO outbox (seq, id, channel, conversation, created_at, message_id, body) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?)',
  trace: 'INSERT OR REPLACE INTO traces (message_id, body) VALUES (?, ?)',
  outboxSettled: 'UPDATE outbox SET state = 1, settled_at = ?, took_ms = ? WHERE seq = ?',
  outboxDeferred:
    'UPDATE outbox SET attempts = ?, due_at = ?, late = ?, possible_duplicate = ?, failure = ? ' +
    'WHERE seq = ?',
  // A try that failed: the last sixteen are kept.
  outboxTried:
    'UPDATE outbox SET attempts = ?, parked = ?, tries = json_insert(CASE ' +
    "WHEN json_array_length(tries) >= 16 THEN json_remove(tries, '$[0]') " +
    "ELSE coalesce(tries, '[]') END, '$[#]', json(?)) WHERE seq = ?",
  outboxDead: 'UPDATE outbox SET state = 2, settled_at = ?, failure = ? WHERE seq = ?',
  owned: 'UPDATE owner SET clean = 0',
  cursor:
    'INSERT INTO cursors (channel, name, value) VALUES (?, ?, ?) ' +
    'ON CONFLICT DO UPDATE SET value = excluded.value',
} as const;

export type StatementName = keyof typeof statements;
export type Value = number | string | null;
export type Write = readonly [StatementName, ...Value[]];

/** A message with a key that may have come before: its row is written only if it has not. */
export type KeyedAccept = {
  readonly key: string;
  readonly expiresAt: number;
  readonly write: Write;
};

/** What becomes one transaction. */
export type Group = { readonly number: number; readonly writes: readonly (Write | KeyedAccept)[] };

/** `known` says which keyed messages had come before: place in the group → first message's id. */
export type GroupDone =
  | {
      readonly kind: 'done';
      readonly number: number;
      readonly known: readonly (readonly [place: number, id: string])[];
    }
  | { readonly kind: 'failed'; readonly number: number; readonly message: string };

/**
 * A group goes as JSON text: copying one string from thread to thread takes a quarter of the time
 * of cloning as many arrays.
 */
export type GroupText = string;

export type ToWriter = GroupText | { readonly kind: 'close' };

export type FromWriter =
  | GroupDone
  | { readonly kind: 'open' }
  | { readonly kind: 'unopened'; readonly errcode: number; readonly message: string }
  | { readonly kind: 'disk'; readonly freeBytes: number }
  | { readonly kind: 'closed' };
