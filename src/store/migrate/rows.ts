/**
 * Rows of SQLite as rows of PostgreSQL: pure, one table at a time. A number of SQLite (`seq`)
 * counts over all conversations, and serves as the number within a lane: it grows there as well.
 */
import { timeOfId, timeText } from '../../domain/ids.ts';
import { wholeIdLength } from '../order/rows.ts';
import { toText } from '../postgres/server/text.ts';
import { fieldsOf } from '../read/stored-json.ts';

export type Cell = string | number | boolean | null;
export type Row = Readonly<Record<string, Cell>>;

/** A row of SQLite by the names of its columns, as the driver gives it. */
export type Kept = Readonly<Record<string, unknown>>;

/** Whether a row without a stamp, which is from before there were stamps, is private. */
export type IsPrivate = (channel: string, stamp: number | null) => boolean;

const text = (value: unknown): string => String(value);
const plain = (value: unknown): string => toText(String(value));
const number = (value: unknown): number => Number(value);
const textOrNull = (value: unknown): string | null => (value === null ? null : text(value));
const plainOrNull = (value: unknown): string | null => (value === null ? null : plain(value));
const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));

/** Where a row is: its channel and its conversation. */
function placeOf(kept: Kept): { readonly channel: string; readonly conversation: string } {
  return { channel: text(kept['channel']), conversation: plain(kept['conversation']) };
}

function stampOf(kept: Kept, isPrivate: IsPrivate): boolean {
  return isPrivate(text(kept['channel']), numberOrNull(kept['private']));
}

export type Table = 'inbox' | 'message' | 'outbox' | 'sent';
export type Moved = { readonly table: Table; readonly row: Row };

/** @param trace of its turn, as it was kept; null: none is */
export function messageMoved(kept: Kept, trace: string | null, isPrivate: IsPrivate): Moved {
  const { sender } = fieldsOf(text(kept['body']));
  const acceptedAt = number(kept['accepted_at']);
  const head = {
    id: text(kept['id']),
    ...placeOf(kept),
    n: number(kept['seq']),
    accepted_at: acceptedAt,
    sender: plain((sender as { readonly id?: unknown } | null | undefined)?.id ?? ''),
    private: stampOf(kept, isPrivate),
    // An id is made before its message is accepted, and a replayed message keeps it.
    replayed: acceptedAt > timeOfId(text(kept['id'])),
    attempts: number(kept['attempts']),
    body: text(kept['body']),
  };
  if (kept['state'] === 0)
    return { table: 'inbox', row: { ...head, alone: number(kept['alone']) } };
  return {
    table: 'message',
    row: {
      ...head,
      settled_at: number(kept['settled_at'] ?? acceptedAt),
      brain: plainOrNull(kept['brain']),
      outcome: textOrNull(kept['outcome']),
      model: plainOrNull(kept['model']),
      failure: kept['state'] === 2 ? text(kept['failure'] ?? '{}') : null,
      trace,
    },
  };
}

/**
 * Moves replies. They are to be given in the order of their `seq`: one whose id is older than that
 * of one before it was put back, after that one was made.
 */
export class ReplyMoves {
  #newest = '';

  move(kept: Kept): Moved {
    const id = text(kept['id']);
    const whole = id.slice(0, wholeIdLength);
    const wasReplayed = whole < this.#newest;
    if (!wasReplayed) this.#newest = whole;
    const head = {
      id,
      ...placeOf(kept),
      seq: number(kept['seq']),
      created_at: number(kept['created_at']),
      message_id: text(kept['message_id'] ?? ''),
      attempts: number(kept['attempts']),
      replayed: number(kept['replayed']),
      possible_duplicate: kept['possible_duplicate'] === 1,
      late: kept['late'] === 1,
      replayed_at: wasReplayed ? timeOfId(this.#newest) + 1 : null,
      tries: textOrNull(kept['tries']),
      body: text(kept['body']),
    };
    if (kept['state'] === 0) {
      const parked = kept['parked'] === 1;
      const [dueAt, failure] = [numberOrNull(kept['due_at']), textOrNull(kept['failure'])];
      return { table: 'outbox', row: { ...head, parked, due_at: dueAt, failure } };
    }
    return {
      table: 'sent',
      row: {
        ...head,
        settled_at: number(kept['settled_at'] ?? kept['created_at']),
        took_ms: numberOrNull(kept['took_ms']),
        failure: kept['state'] === 2 ? text(kept['failure'] ?? '{}') : null,
      },
    };
  }
}

/** @param messageId of the message with its number; null: it is not kept any more */
export function turnMoved(kept: Kept, messageId: string | null, isPrivate: IsPrivate): Row {
  const [at, seq] = [number(kept['at']), number(kept['seq'])];
  return {
    ...placeOf(kept),
    session: number(kept['session']),
    n: seq,
    message_id: messageId ?? idFor(at, seq),
    at,
    sender: plainOrNull(kept['sender']),
    private: stampOf(kept, isPrivate),
    left_out: number(kept['left_out']),
    text: plain(kept['text']),
    reply: plainOrNull(kept['reply']),
  };
}

/** What stands for the id of a message that is gone: turns of one sender are in its order. */
function idFor(at: number, seq: number): string {
  const digits = wholeIdLength - timeText(at).length;
  return timeText(at) + timeText(seq).padStart(digits, '0');
}

/**
 * @param tail the highest number of the lane's messages and turns
 * @param cut the row of `conversations`; null: only turns are kept
 */
export function laneMoved(
  key: { readonly channel: string; readonly conversation: string },
  tail: number,
  cut: Kept | null,
): Row {
  return {
    channel: key.channel,
    conversation: toText(key.conversation),
    tail,
    session: numberOrNull(cut?.['session'] ?? null),
    started_at: numberOrNull(cut?.['started_at'] ?? null),
    previous_at: numberOrNull(cut?.['previous_at'] ?? null),
  };
}

export function cutMoved(kept: Kept): Row {
  const [session, at] = [number(kept['session']), number(kept['at'])];
  return { ...placeOf(kept), session, at, reason: text(kept['reason']) };
}

export function noteMoved(kept: Kept, isPrivate: IsPrivate): Row {
  return {
    seq: number(kept['seq']),
    brain: plainOrNull(kept['brain']),
    ...placeOf(kept),
    // SQLite does not keep it.
    message_id: '',
    at: number(kept['at']),
    private: stampOf(kept, isPrivate),
    text: plain(kept['text']),
  };
}

export function toolUseMoved(kept: Kept): Row {
  return {
    seq: number(kept['seq']),
    key: plain(kept['key']),
    message_id: text(kept['message_id']),
    ...placeOf(kept),
    at: number(kept['at']),
    ms: number(kept['ms']),
    tool: plain(kept['tool']),
    mode: text(kept['mode']),
    rule: plain(kept['rule']),
    outcome: text(kept['outcome']),
    arguments: plain(kept['arguments']),
  };
}

/** @param channel of its message */
export function toolCallMoved(kept: Kept, channel: string, isPrivate: IsPrivate): Row {
  return {
    key: plain(kept['key']),
    message_id: text(kept['message_id']),
    tool: plain(kept['tool']),
    hash: text(kept['hash']),
    private: isPrivate(channel, numberOrNull(kept['private'])),
    text: plainOrNull(kept['text']),
    outcome: textOrNull(kept['outcome']),
    ms: numberOrNull(kept['ms']),
  };
}

export function dedupeMoved(kept: Kept): Row {
  return {
    channel: text(kept['channel']),
    key: plain(kept['key']),
    message_id: text(kept['message_id']),
    expires_at: number(kept['expires_at']),
    fingerprint: textOrNull(kept['fingerprint']),
  };
}

export function cursorMoved(kept: Kept): Row {
  return {
    channel: text(kept['channel']),
    name: plain(kept['name']),
    value: plain(kept['value']),
  };
}

export function auditMoved(kept: Kept): Row {
  return {
    seq: number(kept['seq']),
    at: number(kept['at']),
    action: plain(kept['action']),
    target: text(kept['target']),
    status: number(kept['status']),
    reason: plainOrNull(kept['reason']),
  };
}
