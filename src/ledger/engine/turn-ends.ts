/** What the end of a turn is to the storage, with the messages that were one with its own. */
import type { Failure } from '../../domain/failure.ts';
import type { MessageId } from '../../domain/ids.ts';
import type { Trace } from '../../domain/trace.ts';
import type { WholeInRow } from './order/rows.ts';
import type { Effects, Memory } from '../ledger.ts';
import type { TurnEnd } from './storage.ts';

type Ended = {
  readonly row: WholeInRow;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly memory: Memory;
  /** It is a dead letter; null: it is answered. */
  readonly why: Failure | null;
  readonly effects: Effects | null;
};

export function turnEndOf(ended: Ended, nextSeq: () => number): TurnEnd {
  const { row, effects } = ended;
  const replies = (effects?.replies ?? []).map((reply) => ({ reply, seq: nextSeq() }));
  if (row.joined.length === 0) return { ...ended, replies };
  const joined = row.joined.map((piece) => {
    return { row: piece, trace: joinedTrace(effects?.trace ?? null, piece, row.head.id) };
  });
  return { ...ended, replies, joined };
}

/** It tells with which message it was answered, and no step of that one's turn again. */
function joinedTrace(
  trace: Trace | null,
  { head: { acceptedAt }, attempt }: WholeInRow,
  answeredWith: MessageId,
): Trace | null {
  if (trace === null) return null;
  return { ...trace, acceptedAt, attempt, steps: [{ kind: 'joined', answeredWith }] };
}
