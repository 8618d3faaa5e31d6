/**
 * Makes the end of a turn for the storage, with the ends of the messages merged into its message.
 */
import type { Failure } from '../../domain/failure.ts';
import type { MessageId } from '../../domain/ids.ts';
import type { Trace } from '../../domain/trace.ts';
import type { WholeInRow } from './queue.ts';
import type { Effects, Memory } from '../ledger.ts';
import type { TurnEnd } from './storage.ts';

type EndedTurn = {
  readonly row: WholeInRow;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly memory: Memory;
  /** The reason of a dead letter; null: it is answered. */
  readonly why: Failure | null;
  readonly effects: Effects | null;
};

export function turnEndOf(ended: EndedTurn, nextSeq: () => number): TurnEnd {
  const { row, effects } = ended;
  const replies = (effects?.replies ?? []).map((reply) => ({ reply, seq: nextSeq() }));
  if (row.merged.length === 0) return { ...ended, replies };
  const joined = row.merged.map((other) => {
    return { row: other, trace: mergedTrace(effects?.trace ?? null, other, row.head.id) };
  });
  return { ...ended, replies, joined };
}

/**
 * The trace of a merged message. It names the message that it was answered with, and has no other
 * steps.
 */
function mergedTrace(
  trace: Trace | null,
  { head: { acceptedAt }, attempt }: WholeInRow,
  answeredWith: MessageId,
): Trace | null {
  if (trace === null) return null;
  return { ...trace, acceptedAt, attempt, steps: [{ kind: 'joined', answeredWith }] };
}
