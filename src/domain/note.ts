/** Notes: short texts that an agent keeps for later turns, beside the history. */
import type { Sensitivity } from './sensitivity.ts';
import type { ConversationKey } from './story.ts';

/** `sensitivity` is the label of the turn that made the note. */
export type Note = {
  readonly at: number;
  readonly text: string;
  readonly sensitivity: Sensitivity;
};

/** The owner of the notes: one conversation, or all conversations of a brain together. */
export type NoteScope =
  | { readonly kind: 'conversation' }
  | { readonly kind: 'brain'; readonly brain: string };

/** The same for a caller outside of a conversation. */
export type NotesOf =
  | ({ readonly kind: 'conversation' } & ConversationKey)
  | Extract<NoteScope, { kind: 'brain' }>;

/** A note with the conversation that made it. */
export type NoteText = Omit<Note, 'sensitivity'> & ConversationKey;

/**
 * A change of the notes. `add`: if there are then more than `notesMax` notes, the oldest go. For a
 * brain's notes, the oldest notes of the conversation with the most notes go.
 */
export type NoteMove =
  | {
      readonly kind: 'add';
      readonly scope: NoteScope;
      readonly note: Note;
      readonly notesMax: number;
    }
  | { readonly kind: 'clear'; readonly scope: NoteScope };
