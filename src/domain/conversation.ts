/**
 * A conversation's history: its turns and sessions, and the window of a session that a brain sees.
 */
import type { Picture } from './attachment.ts';
import type { Sensitivity } from './sensitivity.ts';

/** One line of a conversation's history, oldest first. */
export type HistoryLine = {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** A model that sees pictures gets these with the line; absent: none. */
  readonly pictures?: readonly Picture[];
  /**
   * A part of the text that stays when this line is left out. It then goes before the next line.
   * Absent: none.
   */
  readonly outlasting?: string;
};

/**
 * A message and its reply, as later turns see them. `reply` null: there was none. `at` is in
 * milliseconds since 1970.
 */
export type TurnRow = {
  readonly at: number;
  readonly text: string;
  readonly reply: string | null;
  /** The strictest label of its message, its brain, and everything that the answering model saw. */
  readonly sensitivity: Sensitivity;
  /**
   * This turn had no answer, and its model answered once only without it. Another failure proves
   * that the turn is the cause.
   */
  readonly doubted?: true;
  /** A quoted block from an earlier session that nobody wrote now; absent: a normal turn. */
  readonly quoted?: true;
};

/**
 * A quoted block that goes into a session. It has the strictest label of the turns that it quotes.
 */
export type QuotedBlock = Pick<TurnRow, 'text' | 'sensitivity'>;

/**
 * The turns that a session may no longer show. If svc does not keep them: only how private the
 * conversation has been since this process started.
 */
export type EarlierTurns =
  | { readonly kind: 'kept'; readonly turns: readonly TurnRow[] }
  | { readonly kind: 'label'; readonly sensitivity: Sensitivity };

export const noTurns: EarlierTurns = { kind: 'kept', turns: [] };

/** A stretch of a conversation between two cuts. The newest session is the active one. */
export type Session = { readonly number: number; readonly startedAt: number };

export type CutReason = 'command' | 'daily' | 'idle';

/**
 * Ends the active session: later turns no longer see the turns before it. `at` is in milliseconds
 * since 1970.
 */
export type SessionMove = { readonly reason: CutReason; readonly at: number };

/**
 * How much of a session a brain sees: the number of turns, and the characters of messages and
 * replies together (UTF-16 code units).
 */
export type HistoryBounds = { readonly turns: number; readonly characters: number };

export const historyBounds: HistoryBounds = { turns: 40, characters: 16_000 };
/** The bounds that are at least as wide as each given one and as the default. */
export function widestOf(all: readonly HistoryBounds[]): HistoryBounds {
  return {
    turns: Math.max(historyBounds.turns, ...all.map(({ turns }) => turns)),
    characters: Math.max(historyBounds.characters, ...all.map(({ characters }) => characters)),
  };
}

export const historyBoundsMax: HistoryBounds = { turns: 400, characters: 400_000 };

/**
 * The start of a brain's window of a session: after the turn of the time `after`. `at` is the time
 * of the cut. Both are milliseconds since 1970.
 */
export type WindowStart = { readonly after: number; readonly at: number };

/**
 * The window starts of one session, by brain. A brain is absent if its window begins with the
 * session.
 */
export type WindowStarts = ReadonlyMap<string, WindowStart>;

export const noStarts: WindowStarts = new Map();

/** The part of a session that a brain sees. `start` null: the window begins with the session. */
export type Window = {
  /** Oldest first. */
  readonly turns: readonly TurnRow[];
  readonly start: WindowStart | null;
  /** This call cut the window. */
  readonly isCut: boolean;
};

/** A cut keeps this many of the newest turns, if they leave room for the turns that follow. */
const turnsKept = 10;
/** The share of each bound that the kept turns may take. */
const partKept = 3 / 4;

/**
 * A brain's window of a session. While the window is within its bounds it only grows. So each
 * prompt continues the one before, and a model's runtime need not read all of it again. When it
 * passes a bound, the oldest half goes at once. A turn is in the window whole, or not at all.
 * @param rows the newest turns of the session, oldest first: as many as `newestTurns` gives
 * @param now milliseconds since 1970
 */
export function windowOf(
  rows: readonly TurnRow[],
  start: WindowStart | null,
  bounds: HistoryBounds,
  now: number,
): Window {
  const first = start === null ? 0 : firstAfter(rows, start);
  const kept = keepMomentWhole(rows, first, firstKept(rows, first, bounds), bounds);
  const turns = kept === 0 ? rows : rows.slice(kept);
  if (kept === first) return { turns, start, isCut: false };
  return { turns, start: { after: rows[kept - 1]!.at, at: now }, isCut: true };
}

/**
 * The first row after the start. The turn at the start itself may be gone: left out, or forgotten
 * with its sender.
 */
function firstAfter(rows: readonly TurnRow[], { after }: WindowStart): number {
  const place = rows.findLastIndex(({ at }) => at === after);
  if (place >= 0) return place + 1;
  const next = rows.findIndex(({ at }) => at > after);
  return Math.max(0, next);
}

/**
 * Moves a cut so that turns of one moment stay together, since a start names only a time. If they
 * do not fit, all of them go.
 */
function keepMomentWhole(
  rows: readonly TurnRow[],
  first: number,
  kept: number,
  bounds: HistoryBounds,
): number {
  const isInside = (place: number): boolean => rows[place - 1]?.at === rows[place]?.at;
  let begin = kept;
  while (begin > first && isInside(begin)) begin--;
  if (begin > first && isWithin(rows, begin, bounds)) return begin;
  let end = kept;
  while (end > first && end < rows.length && isInside(end)) end++;
  return end;
}

/**
 * The window of a conversation that no ledger keeps, such as a trial: as if a brain had seen each
 * turn.
 */
export function windowAfter(rows: readonly TurnRow[], bounds: HistoryBounds): readonly TurnRow[] {
  let first = 0;
  for (let end = 1; end <= rows.length; end++) {
    first = firstKept(rows, first, bounds, end);
  }
  return first === 0 ? rows : rows.slice(first);
}

/** The newest turns, oldest first: enough for any window within the bounds. */
export function newestTurns(
  rows: readonly TurnRow[],
  { turns, characters }: HistoryBounds,
): readonly TurnRow[] {
  let characterCount = 0;
  let first = rows.length;
  // One turn more than fits shows that the session passes a bound.
  while (first > 0 && rows.length - first <= turns && characterCount <= characters) {
    characterCount += charactersOf(rows[--first]!);
  }
  return first === 0 ? rows : rows.slice(first);
}

/**
 * The first row of the window that began at `first`: the same, or later if the window is cut now.
 * @param end only the rows before this index count
 */
function firstKept(
  rows: readonly TurnRow[],
  first: number,
  bounds: HistoryBounds,
  end = rows.length,
): number {
  if (isWithin(rows, first, bounds, end)) return first;
  let place = end;
  let characterCount = 0;
  while (place > first) {
    characterCount += charactersOf(rows[place - 1]!);
    if (!staysInView(end - place + 1, characterCount, bounds)) break;
    place--;
  }
  return place;
}

function isWithin(
  rows: readonly TurnRow[],
  first: number,
  bounds: HistoryBounds,
  end = rows.length,
): boolean {
  let characters = 0;
  for (let place = first; place < end; place++) characters += charactersOf(rows[place]!);
  return end - first <= bounds.turns && characters <= bounds.characters;
}

/** Whether the newest `turns` turns, with this many characters, stay in view after a cut. */
function staysInView(turns: number, characters: number, bounds: HistoryBounds): boolean {
  if (turns > bounds.turns || characters > bounds.characters) return false;
  if (turns === 1) return true;
  if (turns <= bounds.turns / 2 && characters <= bounds.characters / 2) return true;
  return (
    turns <= Math.min(turnsKept, bounds.turns * partKept) &&
    characters <= bounds.characters * partKept
  );
}

function charactersOf({ text, reply }: TurnRow): number {
  return text.length + (reply?.length ?? 0);
}

/** The history lines of the turns, oldest first. */
export function linesOf(rows: readonly TurnRow[]): readonly HistoryLine[] {
  const lines: HistoryLine[] = [];
  for (const row of rows) {
    if (row.text !== '') lines.push({ role: 'user', text: row.text });
    if (row.reply !== null) lines.push({ role: 'assistant', text: row.reply });
  }
  return lines;
}
