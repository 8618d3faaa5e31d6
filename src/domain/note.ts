/** What an agent keeps for later turns, beside the history: short texts of its own. */
import type { Sensitivity } from './sensitivity.ts';
import type { ConversationKey } from './story.ts';

/** `sensitivity` is that of the turn in which it was made. */
export type Note = {
  readonly at: number;
  readonly text: string;
  readonly sensitivity: Sensitivity;
};

/** Whose notes: one conversation's, or all of a brain's conversations together. */
export type NoteScope =
  | { readonly kind: 'conversation' }
  | { readonly kind: 'brain'; readonly brain: string };

/** The same for a caller who is in no conversation. */
export type NotesOf =
  | ({ readonly kind: 'conversation' } & ConversationKey)
  | Extract<NoteScope, { kind: 'brain' }>;

/** A note with the conversation in which it was made. */
export type NoteText = Omit<Note, 'sensitivity'> & ConversationKey;

/**
 * `add`: when there are then more than `notesMax`, the oldest go; of a brain's notes the oldest of
 * the conversation that has the most of them.
 */
export type NoteMove =
  | {
      readonly kind: 'add';
      readonly scope: NoteScope;
      readonly note: Note;
      readonly notesMax: number;
    }
  | { readonly kind: 'clear'; readonly scope: NoteScope };
