/**
 * The data that a migration moves, in a format that both backends share. Times are milliseconds
 * since 1970. Data that a backend derives from the rest (counts, indexes) is not moved.
 */
export type Value = string | number | boolean | null;
export type Row = Readonly<Record<string, Value>>;

/** In the order in which they are moved. */
export const tableNames = [
  'messages',
  'replies',
  'turns',
  'conversations',
  'cuts',
  'notes',
  'tool_uses',
  'tool_calls',
  'attachments',
  'keys',
  'cursors',
  'audit',
  'figures',
  'approvals',
  'spend',
] as const;

export type TableName = (typeof tableNames)[number];

export type Table = {
  /** The columns that must be equal in both databases. */
  readonly columns: readonly string[];
  /**
   * Rows of one `queue` come together and in order; the numbers behind that order differ by
   * backend. In other tables `seq` is moved as it is, or there is no order.
   */
  readonly queue: readonly string[] | null;
};

/**
 * The columns of each table. `state`: 0 waits, 1 settled, 2 dead. Rows have these fields besides,
 * which are not compared:
 * - A message has `sender`, `replayed`, `n` (its number in the database that it comes from) and
 *   `number` (its place among all messages and turns, by age and in the order of each
 *   conversation).
 * - A turn has `n`, `number` and `message_id`.
 * - A note has `message_id`.
 * - A reply has `replayed_at`.
 *
 * `replayed` and `replayed_at` mark replayed dead letters, so far as the backend can tell.
 */
export const tables: Readonly<Record<TableName, Table>> = {
  messages: tableOf(
    'id channel conversation accepted_at private attempts alone body state settled_at brain ' +
      'outcome model failure trace unsent',
    'channel conversation',
  ),
  replies: tableOf(
    'id channel conversation seq created_at message_id attempts replayed possible_duplicate late ' +
      'parked due_at failure tries body state settled_at took_ms',
  ),
  turns: tableOf(
    'channel conversation session at sender private left_out text reply',
    'channel conversation session',
  ),
  conversations: tableOf('channel conversation session started_at previous_at windows'),
  cuts: tableOf('channel conversation session at reason'),
  notes: tableOf('seq brain channel conversation at private text'),
  tool_uses: tableOf(
    'seq key message_id channel conversation at ms tool mode rule outcome arguments told',
  ),
  tool_calls: tableOf('key message_id tool hash private text outcome ms'),
  attachments: tableOf('message_id place channel conversation kind name type private content'),
  keys: tableOf('channel key message_id expires_at fingerprint'),
  cursors: tableOf('channel name value'),
  audit: tableOf('seq at action target status reason'),
  figures: tableOf('length_ms at run body'),
  approvals: tableOf(
    'id code state channel conversation sender message_id brain tool private asked_at expires_at ' +
      'decided_at decided_by settled_at outcome body',
  ),
  spend: tableOf(
    'channel sender day brain model price_input price_output costs calls estimated_calls input ' +
      'output open_input open_output',
  ),
};

function tableOf(columns: string, queue: string | null = null): Table {
  return { columns: columns.split(' '), queue: queue === null ? null : queue.split(' ') };
}

/** One of the two databases; nobody else writes it meanwhile. */
export interface Side extends AsyncDisposable {
  count(table: TableName): Promise<number>;
  /** The rows by pages; those of a queue in order. */
  rows(table: TableName): AsyncIterable<readonly Row[]>;
}

/** The empty database. Unless `keep` ran, disposing of it removes all that was put into it. */
export interface Target extends Side {
  put(table: TableName, rows: readonly Row[]): Promise<void>;
  /**
   * Derives the data that is not moved. Call it after the last row, and before the rows are read
   * again.
   */
  complete(): Promise<void>;
  keep(): Promise<void>;
}

/** How many rows one page has; few where a row holds a picture. */
export function pageRows(table: TableName): number {
  return table === 'attachments' ? 8 : 500;
}
