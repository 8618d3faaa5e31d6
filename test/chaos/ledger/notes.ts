/** Notes by the contract: a list for each scope, and the queue that made each note. */
import type { Message } from '../../../src/domain/message.ts';
import type { Note, NoteMove, NoteScope } from '../../../src/domain/note.ts';

type Kept = Note & { readonly queue: string };

const brain = { kind: 'brain', brain: 'main' } as const;
const here = { kind: 'conversation' } as const;
export const scopes: readonly NoteScope[] = [here, brain];

/** The note moves of a turn; most turns have none. */
export function noteMovesOf(
  text: string,
  { acceptedAt: at, sensitivity }: Pick<Message, 'acceptedAt' | 'sensitivity'>,
  [what = 0, most = 0]: readonly number[],
): readonly NoteMove[] {
  const scope = most > 0.5 ? brain : here;
  if (what < 0.6) return [];
  if (what > 0.96) return [{ kind: 'clear', scope }];
  const notesMax = 1 + (Math.floor(most * 97) % 4);
  const add = (note: string): NoteMove => {
    return { kind: 'add', scope, note: { at, text: note, sensitivity }, notesMax };
  };
  return what > 0.85 ? [add(`first of ${text}`), add(`second of ${text}`)] : [add(text)];
}

export class NoteReference {
  readonly #kept = new Map<string, readonly Kept[]>();

  /** A turn of that queue has ended. */
  finish(queue: string, moves: readonly NoteMove[]): void {
    for (const move of moves) {
      const key = keyOf(queue, move.scope);
      if (move.kind === 'clear') this.#kept.delete(key);
      else {
        const notes = [...(this.#kept.get(key) ?? []), { queue, ...move.note }];
        this.#kept.set(key, shared(notes, move.notesMax));
      }
    }
  }

  of(queue: string, scope: NoteScope): readonly Note[] {
    const notes = this.#kept.get(keyOf(queue, scope)) ?? [];
    return notes.map(({ at, text, sensitivity }) => ({ at, text, sensitivity }));
  }

  forget(queues: ReadonlySet<string>): void {
    for (const [key, notes] of this.#kept) {
      this.#kept.set(
        key,
        notes.filter(({ queue }) => !queues.has(queue)),
      );
    }
  }
}

/** While there are too many, removes the oldest note of the conversation with the most notes. */
function shared(notes: readonly Kept[], most: number): readonly Kept[] {
  let left = notes;
  while (left.length > most) {
    const counts = new Map<string, number>();
    for (const { queue } of left) counts.set(queue, (counts.get(queue) ?? 0) + 1);
    const largest = Math.max(...counts.values());
    const goes = left.find(({ queue }) => counts.get(queue) === largest);
    left = left.filter((note) => note !== goes);
  }
  return left;
}

function keyOf(queue: string, scope: NoteScope): string {
  return scope.kind === 'brain' ? `brain ${scope.brain}` : `lane ${queue}`;
}
