/** The memory of a conversation after a turn. */
import {
  newestTurns,
  noStarts,
  type HistoryBounds,
  type TurnRow,
  type WindowStarts,
} from '../../domain/conversation.ts';
import type { Message } from '../../domain/message.ts';
import type { Effects, Memory } from '../ledger.ts';
import type { TurnEnd } from './storage.ts';

/**
 * The windows of at most this many brains are kept for a session. Beyond it, the window that was
 * cut first is dropped.
 */
const windowsMax = 16;

/**
 * The memory that the next turn of the conversation sees.
 * @param bounds the widest of all brains
 */
export function memoryAfter(
  { acceptedAt }: Message,
  before: Memory,
  effects: Effects | null,
  bounds: HistoryBounds,
): Memory {
  const move = effects?.session ?? null;
  const turn = effects?.turn ?? null;
  const turns = move === null ? withoutTurns(before.turns, effects?.leftOut ?? []) : [];
  const imported = effects?.imported ?? null;
  const added: TurnRow[] =
    imported === null ? [] : [{ at: acceptedAt, ...imported, reply: null, quoted: true }];
  if (turn !== null) added.push(turn);
  const { number } = before.session;
  return {
    session: move === null ? before.session : { number: number + 1, startedAt: move.at },
    turns: added.length === 0 ? turns : newestTurns([...turns, ...added], bounds),
    windows: move === null ? windowsAfter(before.windows, effects) : noStarts,
    previousAt: Math.max(before.previousAt ?? acceptedAt, acceptedAt),
    empty: added.length === 0 && (move !== null || before.empty),
  };
}

/** Whether `memoryAfter` gives the memory that the storage would read. */
export function isKnownAfter({ row, effects }: TurnEnd): boolean {
  const isOutdated = row.historyVersion < row.queue.historyVersion;
  // Older turns take the places of those left out.
  const isOther = effects !== null && effects.leftOut.length + effects.doubted.length > 0;
  return !row.gone && !isOutdated && !isOther;
}

function windowsAfter(before: WindowStarts, effects: Effects | null): WindowStarts {
  const cut = effects?.window;
  if (cut === undefined) return before;
  const windows = new Map(before);
  windows.delete(cut.brain);
  windows.set(cut.brain, cut.start);
  const [oldest] = windows.keys();
  if (windows.size > windowsMax) windows.delete(oldest!);
  return windows;
}

function withoutTurns(turns: readonly TurnRow[], leftOut: readonly TurnRow[]): readonly TurnRow[] {
  return leftOut.length === 0 ? turns : turns.filter((turn) => !leftOut.includes(turn));
}
