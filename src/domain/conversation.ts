import type { Picture } from './attachment.ts';
import type { Sensitivity } from './sensitivity.ts';

/** One line of a conversation's history, oldest first. */
export type HistoryLine = {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** What a model that sees is shown with it; absent: nothing. */
  readonly pictures?: readonly Picture[];
  /** A part of the text that goes before the next line where this one is left out; absent: none. */
  readonly outlasting?: string;
};

/** A message and the reply to it, as the next turn will see them; `reply` null: there was none. */
export type TurnRow = {
  readonly at: number;
  readonly text: string;
  readonly reply: string | null;
  /** The strictest of its message, its brain, and all that the model behind its reply was shown. */
  readonly sensitivity: Sensitivity;
  /** It had no answer, and its model answered once only without it: another failure is proof. */
  readonly doubted?: true;
  /** A block that was recalled from an earlier session: nobody said it. Left out: a turn. */
  readonly quoted?: true;
};

/** A quoted block on its way into a session, as strict as the strictest turn that it quotes. */
export type QuotedBlock = Pick<TurnRow, 'text' | 'sensitivity'>;

/**
 * What is known of turns that a session may show no more: the turns; or, where none are kept, only
 * how private the conversation has been since the start of this process.
 */
export type EarlierTurns =
  | { readonly kind: 'kept'; readonly turns: readonly TurnRow[] }
  | { readonly kind: 'label'; readonly sensitivity: Sensitivity };

export const noTurns: EarlierTurns = { kind: 'kept', turns: [] };

/** A stretch of a conversation between cuts; the newest is the active one. */
export type Session = { readonly number: number; readonly startedAt: number };

export type CutReason = 'command' | 'daily' | 'idle';

/** Ends the active session: the turns before it are no longer recalled. */
export type SessionMove = { readonly reason: CutReason; readonly at: number };

/**
 * How much of a session a brain is shown: turns, and characters of messages and replies together
 * (UTF-16 code units).
 */
export type HistoryBounds = { readonly turns: number; readonly characters: number };

export const historyBounds: HistoryBounds = { turns: 40, characters: 16_000 };
/** As wide as each of them, and no narrower than without a setting. */
export function widestOf(all: readonly HistoryBounds[]): HistoryBounds {
  return {
    turns: Math.max(historyBounds.turns, ...all.map(({ turns }) => turns)),
    characters: Math.max(historyBounds.characters, ...all.map(({ characters }) => characters)),
  };
}

export const historyBoundsMax: HistoryBounds = { turns: 400, characters: 400_000 };

/**
 * Where a brain's window of a session begins: behind the turn of the time `after`. `at` is when it
 * was cut. Both are milliseconds since 1970.
 */
export type WindowStart = { readonly after: number; readonly at: number };

/** Of one session, by brain. A brain whose window begins with the session has none. */
export type WindowStarts = ReadonlyMap<string, WindowStart>;

export const noStarts: WindowStarts = new Map();

/** What a brain is shown of a session. `start` null: the window begins with the session. */
export type Window = {
  /** Oldest first. */
  readonly turns: readonly TurnRow[];
  readonly start: WindowStart | null;
  /** The window was cut just now. */
  readonly isCut: boolean;
};

/** So many of the newest turns stay in view at a cut, where they leave room for what follows. */
const turnsKept = 10;
/** The part of each bound that these may take. */
const partKept = 3 / 4;

/**
 * A brain's window of a session. While it holds no more than the bounds say it only grows, so each
 * prompt goes on from the one before, and a model's runtime need not read all of it again. When a
 * bound is passed, the oldest half goes at once. A turn is taken whole or left out.
 * @param rows the newest turns of the session, oldest first: as many as `newestTurns` gives
 * @param now milliseconds since 1970
 */
export function windowOf(
  rows: readonly TurnRow[],
  start: WindowStart | null,
  bounds: HistoryBounds,
  now: number,
): Window {
  const first = start === null ? 0 : firstBehind(rows, start);
  const kept = besideMoment(rows, first, firstKept(rows, first, bounds), bounds);
  const turns = kept === 0 ? rows : rows.slice(kept);
  if (kept === first) return { turns, start, isCut: false };
  return { turns, start: { after: rows[kept - 1]!.at, at: now }, isCut: true };
}

/** The turn at which it was cut may be gone alone: left out, or forgotten with its sender. */
function firstBehind(rows: readonly TurnRow[], { after }: WindowStart): number {
  const place = rows.findLastIndex(({ at }) => at === after);
  if (place >= 0) return place + 1;
  const next = rows.findIndex(({ at }) => at > after);
  return Math.max(0, next);
}

/** A start tells a time: turns of one moment stay together, or go where they do not fit. */
function besideMoment(
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

/** A conversation that nothing is kept of, as a brain would be shown it. */
export function windowAfter(rows: readonly TurnRow[], bounds: HistoryBounds): readonly TurnRow[] {
  let first = 0;
  for (let end = 1; end <= rows.length; end++) {
    first = firstKept(rows, first, bounds, end);
  }
  return first === 0 ? rows : rows.slice(first);
}

/** The newest turns, oldest first, as far as any window within the bounds shows them. */
export function newestTurns(
  rows: readonly TurnRow[],
  { turns, characters }: HistoryBounds,
): readonly TurnRow[] {
  let held = 0;
  let first = rows.length;
  // One turn more than fits says that a bound is passed.
  while (first > 0 && rows.length - first <= turns && held <= characters) {
    held += charactersOf(rows[--first]!);
  }
  return first === 0 ? rows : rows.slice(first);
}

/**
 * Where the window begins that began with `first`: there, or behind what goes now.
 * @param end so many of the turns have been said
 */
function firstKept(
  rows: readonly TurnRow[],
  first: number,
  bounds: HistoryBounds,
  end = rows.length,
): number {
  if (isWithin(rows, first, bounds, end)) return first;
  let place = end;
  let held = 0;
  while (place > first) {
    held += charactersOf(rows[place - 1]!);
    if (!staysInView(end - place + 1, held, bounds)) break;
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

/** Whether the newest `turns` turns, of so many characters, are in view after a cut. */
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

/** The history lines of some turns, oldest first. */
export function linesOf(rows: readonly TurnRow[]): readonly HistoryLine[] {
  const lines: HistoryLine[] = [];
  for (const row of rows) {
    if (row.text !== '') lines.push({ role: 'user', text: row.text });
    if (row.reply !== null) lines.push({ role: 'assistant', text: row.reply });
  }
  return lines;
}
