/**
 * What the main thread and the writer exchange: the statements by name, the writes of a group, and
 * the messages in both directions.
 */
import type { KeyCheck } from '../../../domain/message.ts';
import type { Charged, SpendLimit, Tokens } from '../../../domain/spend.ts';
import { daysOf } from '../../engine/spending.ts';
import type { Reserving } from '../../ledger.ts';
import type { Upgrade } from '../files/migrations.ts';
import { withoutRefused, type Batch, type Waiter } from '../../engine/batching.ts';

/**
 * The writer's findings for a group, by place in the group: the earlier message with the same key,
 * or the decision on a reservation.
 */
export type CommitResult = {
  readonly known: ReadonlyMap<number, KnownMessage>;
  readonly reservings: ReadonlyMap<number, Reserving>;
};
export type Written = (result: CommitResult | null) => void;

export type WaitingCaller = Waiter<CommitResult>;
export type WriteBatch = Batch<AnyWrite, CommitResult>;

/** The batch without the writes of refused callers, and without the last test write. */
export const withoutTestWrites = (batch: WriteBatch) => withoutRefused(batch, isTestWrite);

function isTestWrite([write]: readonly AnyWrite[]): boolean {
  if (write === undefined || !isPlain(write)) return false;
  return write[0] === 'roomTaken' || write[0] === 'roomGiven';
}

const inConversation = 'channel = ?1 AND conversation = ?2';
const conversationIsEmpty =
  `${inConversation} AND NOT EXISTS (SELECT 1 FROM turns WHERE ${inConversation}) ` +
  `AND NOT EXISTS (SELECT 1 FROM inbox WHERE state = 0 AND ${inConversation})`;

const notesOfConversation = 'notes WHERE brain IS NULL AND channel = ?1 AND conversation = ?2';
const notesOfBrain = 'notes WHERE brain = ?1';

const isPublicBefore =
  '(SELECT stamped FROM owner) = 1 AND channel IN (SELECT channel FROM public_before)';

const spendDays = daysOf('spend');

/** Rows whose numbers a JSON list gives: one statement for the very many rows of a start. */
const ofNumbers = 'WHERE seq IN (SELECT value FROM json_each(?))';

/** Rows of a brain that is not in the list. Rows without a brain do not match. */
const ofOtherBrains = 'brain NOT IN (SELECT value FROM json_each(?))';

/**
 * Every write of the group commit, by name. The main thread sends `[name, ...values]`, and the
 * writer runs the statement of that name. Values are numbers, texts and nulls, in the order of the
 * question marks.
 */
export const statements = {
  accept:
    'INSERT INTO inbox (seq, id, channel, conversation, accepted_at, body, private) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?)',
  inboxSettled:
    'UPDATE inbox SET state = 1, brain = ?, outcome = ?, model = ?, settled_at = ? WHERE seq = ?',
  inboxDead:
    'UPDATE inbox SET state = 2, brain = ?, outcome = ?, model = ?, settled_at = ?, failure = ? ' +
    'WHERE seq = ?',
  inboxUnsent: 'UPDATE inbox SET unsent = ? WHERE seq = ?',
  inboxBody: 'UPDATE inbox SET body = ? WHERE id = ?',
  inboxTried: `UPDATE inbox SET attempts = attempts + 1 ${ofNumbers}`,
  inboxAlone: 'UPDATE inbox SET alone = ? WHERE seq = ?',
  inboxCleared: `UPDATE inbox SET attempts = 0, alone = 0 ${ofNumbers}`,
  turn:
    'INSERT INTO turns (channel, conversation, session, seq, at, private, sender, text, reply) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  // A quoted block can only begin an empty session.
  quoted:
    'INSERT INTO turns (channel, conversation, session, seq, at, private, text) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?)',
  turnLeftOut:
    'UPDATE turns SET left_out = ? ' +
    'WHERE channel = ? AND conversation = ? AND session = ? AND at = ? ' +
    'AND reply IS NULL AND sender IS NOT NULL',
  cut:
    'INSERT OR REPLACE INTO cuts (channel, conversation, session, at, reason) ' +
    'VALUES (?, ?, ?, ?, ?)',
  conversation:
    'INSERT INTO conversations ' +
    '(channel, conversation, session, started_at, previous_at, windows) ' +
    'VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET session = excluded.session, ' +
    'started_at = excluded.started_at, previous_at = excluded.previous_at, ' +
    'windows = excluded.windows',
  reply:
    'INSERT INTO outbox (seq, id, channel, conversation, created_at, message_id, body) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?)',
  trace: 'INSERT OR REPLACE INTO traces (message_id, body) VALUES (?, ?)',
  outboxSettled: 'UPDATE outbox SET state = 1, settled_at = ?, took_ms = ? WHERE seq = ?',
  outboxDeferred:
    'UPDATE outbox SET attempts = ?, due_at = ?, late = ?, possible_duplicate = ?, failure = ? ' +
    'WHERE seq = ?',
  // Records a failed attempt. The last sixteen stay.
  outboxTried:
    'UPDATE outbox SET attempts = ?, parked = ?, tries = json_insert(CASE ' +
    "WHEN json_array_length(tries) >= 16 THEN json_remove(tries, '$[0]') " +
    "ELSE coalesce(tries, '[]') END, '$[#]', json(?)) WHERE seq = ?",
  outboxUncounted: 'UPDATE outbox SET replayed = replayed + 1 WHERE seq = ?',
  // Makes a reply due at once, at a person's request. That attempt does not move it along its
  // schedule.
  outboxTriedNow: 'UPDATE outbox SET due_at = ?, replayed = replayed + 1 WHERE seq = ?',
  outboxDue: 'UPDATE outbox SET due_at = ? WHERE seq = ?',
  outboxDied:
    'UPDATE outbox SET attempts = attempts + 1, replayed = replayed + 1, possible_duplicate = 1 ' +
    'WHERE seq = ?',
  outboxDead: 'UPDATE outbox SET state = 2, settled_at = ?, failure = ? WHERE seq = ?',
  // Puts a dead message back at the end of its queue. Its preview has become the apology.
  messageReplayed:
    "UPDATE inbox SET body = iif(json_valid(body), json_remove(body, '$.preview'), body), " +
    'seq = ?, accepted_at = ?, state = 0, attempts = 0, alone = 0, ' +
    // The brain, which would decide the label, is cleared here too.
    `private = coalesce(private, NOT (${isPublicBefore})), ` +
    'settled_at = NULL, failure = NULL, brain = NULL, outcome = NULL, model = NULL, ' +
    'unsent = NULL ' +
    'WHERE seq = ? AND state = 2',
  replyReplayed:
    'UPDATE outbox SET seq = ?, state = 0, late = 1, parked = 0, replayed = attempts, ' +
    'due_at = NULL, settled_at = NULL, failure = NULL WHERE seq = ? AND state = 2',
  turnOfDeadDeleted:
    'DELETE FROM turns WHERE (channel, conversation, seq) IN ' +
    '(SELECT channel, conversation, seq FROM inbox WHERE seq = ? AND state = 2)',
  messageDeleted: 'DELETE FROM inbox WHERE seq = ?',
  replyDeleted: 'DELETE FROM outbox WHERE seq = ?',
  traceDeleted: 'DELETE FROM traces WHERE message_id = ?',
  turnDeleted:
    'DELETE FROM turns WHERE channel = ? AND conversation = ? AND session = ? AND seq = ?',
  // Deletes only if the conversation has no turns and no waiting messages.
  cutsDeleted: `DELETE FROM cuts WHERE ${conversationIsEmpty}`,
  conversationDeleted: `DELETE FROM conversations WHERE ${conversationIsEmpty}`,
  note:
    'INSERT INTO notes (seq, brain, channel, conversation, at, private, text) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?)',
  // The newest `?3` notes stay.
  notesCut:
    `DELETE FROM ${notesOfConversation} AND seq <= ` +
    `(SELECT seq FROM ${notesOfConversation} ORDER BY seq DESC LIMIT 1 OFFSET ?3)`,
  // Each conversation keeps its share: the oldest notes of the conversation with the most notes go
  // first.
  brainNotesCut:
    'DELETE FROM notes WHERE seq IN (SELECT seq FROM (SELECT seq, row_number() OVER ' +
    `(PARTITION BY channel, conversation ORDER BY seq DESC) AS place FROM ${notesOfBrain}) ` +
    `ORDER BY place DESC, seq LIMIT max(0, (SELECT count(*) FROM ${notesOfBrain}) - ?2))`,
  notesCleared: `DELETE FROM ${notesOfConversation} AND seq < ?3`,
  brainNotesCleared: `DELETE FROM ${notesOfBrain} AND seq < ?2`,
  // Includes notes of brains that were made in this conversation.
  notesForgotten: `DELETE FROM notes WHERE ${inConversation} AND seq < ?3`,
  toolUse:
    'INSERT INTO tool_uses (seq, key, message_id, channel, conversation, at, ms, ' +
    'tool, mode, rule, outcome, arguments, told) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ' +
    // A begun call has its row already, with the time of its beginning.
    'ON CONFLICT (key) DO UPDATE SET ms = max(ms, excluded.ms), tool = excluded.tool, ' +
    'mode = excluded.mode, rule = excluded.rule, outcome = excluded.outcome, ' +
    'arguments = excluded.arguments, told = coalesce(excluded.told, told)',
  toolBegun:
    'INSERT OR IGNORE INTO tool_calls (key, message_id, tool, hash, private) ' +
    'VALUES (?, ?, ?, ?, ?)',
  toolEnded: 'UPDATE tool_calls SET text = ?, outcome = ?, ms = ? WHERE key = ?',
  toolUseEnded: "UPDATE tool_uses SET outcome = ?, ms = ? WHERE key = ? AND outcome = 'unknown'",
  attachmentsGone: 'DELETE FROM attachments WHERE message_id = ?',
  // A deleted message keeps no attachments. Its existing ones go with it.
  attachment:
    'INSERT OR IGNORE INTO attachments ' +
    '(message_id, place, channel, conversation, kind, name, type, private, content) ' +
    'SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE EXISTS (SELECT 1 FROM inbox WHERE id = ?1)',
  approvalAsked:
    'INSERT OR IGNORE INTO approvals (id, code, state, channel, conversation, sender, ' +
    'message_id, brain, tool, private, asked_at, expires_at, body) ' +
    "VALUES (?, ?, 'waiting', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  approvalDecided:
    'UPDATE approvals SET state = ?, decided_by = ?, decided_at = ? ' +
    "WHERE id = ? AND state = 'waiting'",
  approvalSettled:
    'UPDATE approvals SET settled_at = ?, outcome = ? ' +
    "WHERE id = ? AND state <> 'waiting' AND settled_at IS NULL",
  approvalDeleted: 'DELETE FROM approvals WHERE id = ?',
  deciderForgotten: 'UPDATE approvals SET decided_by = ? WHERE decided_by = ?',
  hold: 'INSERT OR REPLACE INTO holds (channel, conversation, since, until_at) VALUES (?, ?, ?, ?)',
  holdEnded: 'DELETE FROM holds WHERE channel = ? AND conversation = ?',
  holdsOver: 'DELETE FROM holds WHERE until_at <= ?',
  audit: 'INSERT INTO audit (at, action, target, status, reason) VALUES (?, ?, ?, ?, ?)',
  figure: 'INSERT OR REPLACE INTO figures (length_ms, at, run, body) VALUES (?, ?, ?, ?)',
  // The tokens reserved for a call, or used by a call without a reservation.
  spent:
    'INSERT INTO spend (calls, estimated_calls, input, output, open_input, open_output, channel, ' +
    'sender, day, brain, model, price_input, price_output, costs) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET ' +
    'calls = calls + excluded.calls, ' +
    'estimated_calls = estimated_calls + excluded.estimated_calls, ' +
    'input = input + excluded.input, output = output + excluded.output, ' +
    'open_input = open_input + excluded.open_input, ' +
    'open_output = open_output + excluded.open_output',
  spendSettled:
    'UPDATE spend SET calls = calls + ?, estimated_calls = estimated_calls + ?, ' +
    'input = input + ?, output = output + ?, open_input = max(0, open_input + ?), ' +
    'open_output = max(0, open_output + ?) WHERE channel = ? AND sender = ? AND day = ? ' +
    'AND brain = ? AND model = ? AND price_input = ? AND price_output = ? AND costs = ?',
  spendForgotten: `DELETE FROM spend WHERE day IN (${spendDays}) AND channel = ? AND sender = ?`,
  // Keeps a number or an id from being given again once its row is deleted.
  numbered: 'UPDATE owner SET last_seq = max(last_seq, ?), last_id = max(last_id, ?)',
  owned: 'UPDATE owner SET clean = 0',
  publicBefore: 'INSERT OR IGNORE INTO public_before (channel) VALUES (?)',
  turnsOfBrainsBefore:
    'UPDATE turns SET private = 1 WHERE private IS NULL ' +
    `AND seq IN (SELECT seq FROM inbox WHERE ${ofOtherBrains})`,
  inboxOfBrainsBefore: `UPDATE inbox SET private = 1 WHERE private IS NULL AND ${ofOtherBrains}`,
  // Notes and quoted blocks from private turns.
  notesOfTurnsBefore:
    'UPDATE notes SET private = 1 WHERE private IS NULL AND ' +
    '(channel, conversation) IN (SELECT channel, conversation FROM turns WHERE private = 1)',
  quotedBefore:
    'UPDATE turns SET private = 1 WHERE private IS NULL AND sender IS NULL AND reply IS NULL ' +
    'AND (channel, conversation) IN (SELECT channel, conversation FROM turns WHERE private = 1)',
  notesOfBrainsBefore: `UPDATE notes SET private = 1 WHERE private IS NULL AND ${ofOtherBrains}`,
  labelledBefore: 'UPDATE owner SET stamped = 1',
  cursor:
    'INSERT INTO cursors (channel, name, value) VALUES (?, ?, ?) ' +
    'ON CONFLICT DO UPDATE SET value = excluded.value',
  /** Takes 64 KiB, so that success proves more than a little room. */
  roomTaken: "INSERT OR REPLACE INTO cursors VALUES ('', 'room', hex(zeroblob(32768)))",
  roomGiven: "DELETE FROM cursors WHERE channel = ''",
} as const;

export type StatementName = keyof typeof statements;
export type Value = number | string | null;
export type Write = readonly [StatementName, ...Value[]];

/** A message with a key. Its row is written only if no message with that key came before. */
export type KeyedAccept = {
  readonly key: string;
  readonly expiresAt: number;
  readonly check: KeyCheck | null;
  readonly write: Write;
};

/** A reservation for a call to a model, written only if it fits the limits. */
export type AskedReservation = {
  readonly charged: Charged;
  readonly most: Tokens;
  readonly limits: readonly SpendLimit[];
};

export type AnyWrite = Write | KeyedAccept | AskedReservation;

export function isPlain(write: AnyWrite): write is Write {
  return Array.isArray(write);
}

/** The writes of one transaction. */
export type Group = { readonly number: number; readonly writes: readonly AnyWrite[] };

/** The first message with a key; `reused`: it had another content. */
export type KnownMessage = { readonly id: string; readonly reused: boolean };

/**
 * The result of a group. By place in the group: `known` has the earlier message with the same key,
 * `reservings` has the result of each reservation.
 */
export type GroupDone =
  | {
      readonly kind: 'done';
      readonly number: number;
      readonly known: readonly (readonly [place: number, first: KnownMessage])[];
      readonly reservings: readonly (readonly [place: number, became: Reserving])[];
    }
  /** There was no room, and nothing was written. */
  | { readonly kind: 'full'; readonly number: number }
  /** Another program has locked the database, and nothing was written. */
  | { readonly kind: 'locked'; readonly number: number }
  | { readonly kind: 'failed'; readonly number: number; readonly message: string };

/**
 * A group as JSON text. Copying one string between threads takes a quarter of the time of cloning
 * as many arrays.
 */
export type GroupText = string;

export type ToWriter =
  | GroupText
  | { readonly kind: 'checkpoint'; readonly of: 'vacuum' | 'log' }
  | { readonly kind: 'close' };

export type FromWriter =
  | GroupDone
  /** Sent before `open`, when a database of an older svc is upgraded. */
  | ({ readonly kind: 'upgrading' } & Upgrade)
  | { readonly kind: 'open' }
  | {
      readonly kind: 'unopened';
      /** SQLite's; 0: another error. */
      readonly errcode: number;
      /** The system's. */
      readonly code: string | undefined;
      readonly message: string;
    }
  | { readonly kind: 'disk'; readonly freeBytes: number }
  /** `whole`: the log has been folded into the database, and is empty. */
  | { readonly kind: 'checkpointed'; readonly whole: boolean }
  /** The sweep has deleted these dead letters. */
  | { readonly kind: 'expired'; readonly ids: readonly string[] }
  | { readonly kind: 'closed' };
