/** What a finished turn leaves for those after it. */
import { fitWindow } from '../../domain/conversation.ts';
import type { Message } from '../../domain/message.ts';
import type { Effects, Memory } from '../store.ts';
import type { Write } from './statements.ts';

/** What the conversation's next turn will see. */
export function memoryAfter(
  { acceptedAt }: Message,
  before: Memory,
  effects: Effects | undefined,
): Memory {
  const move = effects?.session ?? null;
  const turn = effects?.turn ?? null;
  const turns = move === null ? before.turns : [];
  const { number } = before.session;
  return {
    session: move === null ? before.session : { number: number + 1, startedAt: move.at },
    turns: turn === null ? turns : fitWindow([...turns, turn]),
    previousAt: acceptedAt,
    empty: turn === null && (move !== null || before.empty),
  };
}

/**
 * The turn itself tells when it was and of which session; the conversation's own row is written
 * only where there is no turn, or where a cut began a new session.
 */
export function turnWrites(
  { channel, conversation, acceptedAt }: Message,
  seq: number,
  { session: { number, startedAt } }: Memory,
  effects: Effects | undefined,
): readonly Write[] {
  const writes: Write[] = [];
  const turn = effects?.turn ?? null;
  if (turn === null || (effects?.session ?? null) !== null) {
    writes.push(['conversation', channel, conversation, number, startedAt, acceptedAt]);
  }
  if (turn !== null) {
    const { at, text, reply } = turn;
    writes.push(['turn', channel, conversation, number, seq, at, text, reply]);
  }
  return writes;
}
