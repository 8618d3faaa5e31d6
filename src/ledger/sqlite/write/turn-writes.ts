/** What a finished turn leaves for those after it. */
import type { Message } from '../../../domain/message.ts';
import { unsentText } from '../../engine/bodies.ts';
import { windowsText } from '../../engine/memories.ts';
import type { TurnEnd } from '../../engine/storage.ts';
import type { Effects, Memory } from '../../ledger.ts';
import { approvalWrites } from './approval-writes.ts';
import { noteWrites, toolUseWrites } from './agent-writes.ts';
import { replyWrite, summaryValues, traceWrite } from './row-codec.ts';
import { labelOf } from '../ledger/sensitivity-labels.ts';
import type { Write } from './statements.ts';

/**
 * Everything that the end of a turn changes, one commit.
 * @param memory what the conversation's next turn will see
 * @param traced whether its trace is kept
 */
export function turnEndWrites(
  end: TurnEnd,
  memory: Memory,
  traced: boolean,
  nextSeq: () => number,
): readonly Write[] {
  const { row, at, effects, replies } = end;
  const { message, seq } = row;
  const writes = turnWrites(message, seq, memory, effects);
  writes.push(endWrite(end, seq, effects));
  for (const { row: piece, trace } of end.joined ?? []) {
    writes.push(endWrite(end, piece.seq, { trace }));
    if (trace !== null && traced) writes.push(traceWrite(piece.head.id, trace));
  }
  const unsent = unsentText(effects);
  if (unsent !== null) writes.push(['inboxUnsent', unsent, seq]);
  if (effects === null) return writes;
  const { notes, toolUses, trace } = effects;
  if (notes.length > 0) writes.push(...noteWrites(message, notes, nextSeq));
  if (toolUses.length > 0) writes.push(...toolUseWrites(message, toolUses, nextSeq));
  for (const made of replies) writes.push(replyWrite(made.seq, made.reply));
  if (effects.asked !== undefined || effects.settled !== undefined) {
    writes.push(...approvalWrites(effects, at));
  }
  if (trace !== null && traced) writes.push(traceWrite(message.id, trace));
  return writes;
}

function endWrite(
  { at, why }: TurnEnd,
  seq: number,
  effects: Pick<Effects, 'trace'> | null,
): Write {
  const summary = summaryValues(effects);
  if (why === null) return ['inboxSettled', ...summary, at, seq];
  return ['inboxDead', ...summary, at, JSON.stringify(why), seq];
}

/**
 * The turn itself tells its time and its session. The conversation's own row is written only where
 * there is no turn, where a new session began, where a brain's window was cut, or where an earlier
 * message was accepted later by a clock that has been set back since. So the newest turn and the
 * row together tell `previousAt`. A quoted block is a turn that nobody said; it stands where its
 * message, a command, has none.
 */
function turnWrites(
  { channel, conversation, acceptedAt, sender }: Message,
  seq: number,
  memory: Memory,
  effects: Effects | null,
): Write[] {
  const writes: Write[] = [];
  const { session, previousAt } = memory;
  const { number, startedAt } = session;
  const turn = effects?.turn ?? null;
  const move = effects?.session ?? null;
  const imported = effects?.imported ?? null;
  const lastAt = previousAt ?? acceptedAt;
  const isMoved = move !== null || effects?.window !== undefined;
  if (turn === null || isMoved || lastAt !== acceptedAt) {
    const own = [number, startedAt, lastAt, windowsText(memory)] as const;
    writes.push(['conversation', channel, conversation, ...own]);
  }
  // A session that ends with this turn needs no mark: none of it is seen again.
  if (move === null && effects !== null) {
    const place = [channel, conversation, number] as const;
    for (const { at } of effects.doubted) writes.push(['turnLeftOut', 1, ...place, at]);
    for (const { at } of effects.leftOut) writes.push(['turnLeftOut', 2, ...place, at]);
  }
  if (move !== null) writes.push(['cut', channel, conversation, number, move.at, move.reason]);
  if (imported !== null) {
    const { text, sensitivity } = imported;
    const label = labelOf(sensitivity);
    writes.push(['quoted', channel, conversation, number, seq, acceptedAt, label, text]);
  } else if (turn !== null) {
    const { at, text, reply, sensitivity } = turn;
    const said = [labelOf(sensitivity), sender.id, text, reply] as const;
    writes.push(['turn', channel, conversation, number, seq, at, ...said]);
  }
  return writes;
}
