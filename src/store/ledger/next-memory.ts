/** What a conversation remembers, from turn to turn. */
import { fitWindow, type TurnRow } from '../../domain/conversation.ts';
import type { Message } from '../../domain/message.ts';
import type { Effects, Memory } from '../store.ts';
import type { TurnEnd } from './storage.ts';

/** What the conversation's next turn will see. */
export function memoryAfter(
  { acceptedAt }: Message,
  before: Memory,
  effects: Effects | null,
): Memory {
  const move = effects?.session ?? null;
  const turn = effects?.turn ?? null;
  const turns = move === null ? without(before.turns, effects?.leftOut ?? []) : [];
  const imported = effects?.imported ?? null;
  const added: TurnRow[] =
    imported === null ? [] : [{ at: acceptedAt, ...imported, reply: null, quoted: true }];
  if (turn !== null) added.push(turn);
  const { number } = before.session;
  return {
    session: move === null ? before.session : { number: number + 1, startedAt: move.at },
    turns: added.length === 0 ? turns : fitWindow([...turns, ...added]),
    previousAt: Math.max(before.previousAt ?? acceptedAt, acceptedAt),
    empty: added.length === 0 && (move !== null || before.empty),
  };
}

/** Whether that is what a storage would read. */
export function isKnownAfter({ row, effects }: TurnEnd): boolean {
  const isOutdated = row.historyVersion < row.lane.historyVersion;
  // Older turns come into the window for those that are left out.
  const isOther = effects !== null && effects.leftOut.length + effects.doubted.length > 0;
  return !row.gone && !isOutdated && !isOther;
}

function without(turns: readonly TurnRow[], leftOut: readonly TurnRow[]): readonly TurnRow[] {
  return leftOut.length === 0 ? turns : turns.filter((turn) => !leftOut.includes(turn));
}
