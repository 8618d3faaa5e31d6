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
  };
}

export function turnWrites(
  { channel, conversation, acceptedAt }: Message,
  seq: number,
  { session: { number, startedAt } }: Memory,
  effects: Effects | undefined,
): readonly Write[] {
  const session: Write = ['conversation', channel, conversation, number, startedAt, acceptedAt];
  const turn = effects?.turn ?? null;
  if (turn === null) return [session];
  const { at, text, reply } = turn;
  return [session, ['turn', channel, conversation, number, seq, at, text, reply]];
}
