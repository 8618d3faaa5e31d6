/**
 * Where an agent's notes stand in its prompts. Those of before the last cut stand behind the system
 * prompt. Each newer one stands behind the first message after it, and stays there: so one prompt
 * goes on from the one before. At the next cut all of them move behind the system prompt.
 */
import type { TurnRow } from '../../domain/conversation.ts';
import type { Note } from '../../domain/note.ts';

export type PlacedNotes = {
  /** Behind the system prompt, oldest first. */
  readonly first: readonly Note[];
  /** Behind the message of a turn; null: behind the newest message. */
  readonly behind: ReadonlyMap<TurnRow | null, readonly Note[]>;
};

export type NotesPlace = {
  /** When the window began; undefined: nobody knows, and all stand behind the system prompt. */
  readonly windowAt: number | undefined;
  /** The turns that the model is shown, oldest first. */
  readonly rows: readonly TurnRow[];
  /** Unicode code points of all that one prompt holds. */
  readonly budgetRunes: number;
};

/** Of the budget, what notes of before the last cut may have: newer ones have all that is left. */
const firstPart = 3 / 4;

/**
 * What stands behind the system prompt depends on the notes of before the cut alone. Only a note
 * that is longer than what these leave takes some of their room. The newest note is never left out
 * for another one.
 * @param notes oldest first
 */
export function placeNotes(
  notes: readonly Note[],
  { windowAt, rows, budgetRunes }: NotesPlace,
): PlacedNotes {
  const behind = new Map<TurnRow | null, Note[]>();
  if (windowAt === undefined) return { first: newestWithin(notes, budgetRunes), behind };
  const before = notes.filter(({ at }) => at <= windowAt);
  const newer = notes.filter(({ at }) => at > windowAt);
  const last = runesOf(newer.slice(-1));
  let first = newestWithin(before, Math.floor(budgetRunes * firstPart));
  if (last > budgetRunes - runesOf(first)) first = newestWithin(before, budgetRunes - last);
  for (const note of inSteps(newer, budgetRunes - runesOf(first))) {
    const row = rows.find(({ at, text }) => at > note.at && text !== '') ?? null;
    behind.set(row, [...(behind.get(row) ?? []), note]);
  }
  return { first, behind };
}

/** The newest that fit, in the order in which they were made. */
function newestWithin(notes: readonly Note[], budgetRunes: number): readonly Note[] {
  let left = budgetRunes;
  let first = notes.length;
  while (first > 0) {
    left -= runesOf(notes.slice(first - 1, first));
    if (left < 0) break;
    first--;
  }
  return notes.slice(first);
}

/** Where they are too many, the oldest half goes at once, so that the rest stays for a while. */
function inSteps(notes: readonly Note[], budgetRunes: number): readonly Note[] {
  const lengths = notes.map((note) => runesOf([note]));
  let from = 0;
  let held = 0;
  for (const [place, length] of lengths.entries()) {
    held += length;
    if (held <= budgetRunes) continue;
    while (from < place && held > budgetRunes / 2) held -= lengths[from++]!;
    if (held <= budgetRunes) continue;
    from = place + 1;
    held = 0;
  }
  return notes.slice(from);
}

/** Unicode code points. */
function runesOf(notes: readonly Note[]): number {
  let count = 0;
  for (const { text } of notes) for (const _rune of text) count++;
  return count;
}

/** What the last turn of a conversation found. */
type Found = {
  readonly windowAt: number;
  readonly kept: readonly Note[];
  /** Kept no more, since newer ones took their places after the cut. */
  readonly gone: readonly Note[];
};

const conversationsMax = 256;
const goneMax = 400;

/**
 * The notes of conversations as they are to be shown: where so many are kept that each new one
 * takes the place of the oldest, the oldest is still shown up to the next cut. Otherwise every note
 * would change the beginning of the prompt. It lasts as long as this process, and nothing depends
 * on it. Notes that somebody cleared are gone at once.
 */
export class NotesUntilCut {
  readonly #found = new Map<string, Found>();

  /**
   * @param key names the conversation
   * @param kept the notes of now, oldest first
   * @param notesMax how many are kept at most
   */
  shown(key: string, windowAt: number, kept: readonly Note[], notesMax: number): readonly Note[] {
    const before = this.#found.get(key);
    const gone =
      before === undefined || before.windowAt !== windowAt ? [] : goneOf(before, kept, notesMax);
    this.#found.delete(key);
    this.#found.set(key, { windowAt, kept, gone });
    const [oldest] = this.#found.keys();
    if (this.#found.size > conversationsMax) this.#found.delete(oldest!);
    return gone.length === 0 ? kept : [...gone, ...kept];
  }
}

/** What went for newer notes; nothing where the kept ones do not go on from those of before. */
function goneOf(before: Found, kept: readonly Note[], notesMax: number): readonly Note[] {
  const [oldest] = kept;
  const from = before.kept.findIndex((note) => oldest !== undefined && isSame(note, oldest));
  if (from < 0 || (from > 0 && kept.length < notesMax)) return [];
  const stayed = before.kept.slice(from);
  const goesOn = stayed.every((note, at) => kept[at] !== undefined && isSame(note, kept[at]));
  return goesOn ? [...before.gone, ...before.kept.slice(0, from)].slice(-goneMax) : [];
}

function isSame(one: Note, other: Note): boolean {
  const isAlike = one.at === other.at && one.text === other.text;
  return isAlike && one.sensitivity === other.sensitivity;
}
