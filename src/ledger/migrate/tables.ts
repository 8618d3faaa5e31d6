/**
 * What is moved from one database to another, in words that both forms share. Times are
 * milliseconds since 1970. What a form derives from the rest (counts, indexes) is not moved.
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
  /** What both databases have to tell the same of. */
  readonly columns: readonly string[];
  /**
   * Rows of one `queue` come together and in their order; the numbers that give it differ by form.
   * Elsewhere `seq` is moved as it is, or there is no order.
   */
  readonly queue: readonly string[] | null;
};

/**
 * `state`: 0 waits, 1 settled, 2 dead. Besides, a message has `sender`, `n` (its number in the
 * database that it comes from) and `number` (its place among all messages and turns, by age and in
 * the order of each conversation), and `replayed`; a turn has both numbers, and `message_id`, as a
 * note has; a reply has `replayed_at`. Both tell what was dead and came back, so far as the form
 * can tell.
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

/** One of the two databases, which nobody else writes meanwhile. */
export interface Side extends AsyncDisposable {
  count(table: TableName): Promise<number>;
  /** By pages, those of a lane in their order. */
  rows(table: TableName): AsyncIterable<readonly Row[]>;
}

/** The empty one. What was not kept is gone when it is disposed of. */
export interface Target extends Side {
  put(table: TableName, rows: readonly Row[]): Promise<void>;
  /** Derives what is not moved; comes after the last row, and before the rows are read again. */
  complete(): Promise<void>;
  keep(): Promise<void>;
}

/** How many rows go at once; a picture is long. */
export function pageRows(table: TableName): number {
  return table === 'attachments' ? 8 : 500;
}
