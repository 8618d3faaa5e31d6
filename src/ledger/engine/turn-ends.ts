/**
 * Makes the end of a turn for the storage, with the ends of the messages merged into its message.
 */
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
  /** The reason of a dead letter; null: it is answered. */
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

/**
 * The trace of a merged message. It names the message that it was answered with, and has no other
 * steps.
 */
function joinedTrace(
  trace: Trace | null,
  { head: { acceptedAt }, attempt }: WholeInRow,
  answeredWith: MessageId,
): Trace | null {
  if (trace === null) return null;
  return { ...trace, acceptedAt, attempt, steps: [{ kind: 'joined', answeredWith }] };
}
