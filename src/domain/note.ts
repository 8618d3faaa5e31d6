/** What an agent keeps for later turns, beside the history: short texts of its own. */
export type Note = { readonly at: number; readonly text: string };

/** Whose notes: one conversation's, or all of a brain's conversations together. */
export type NoteScope =
  | { readonly kind: 'conversation' }
  | { readonly kind: 'brain'; readonly brain: string };

/** `add`: when there are more than `notesMax` then, the oldest go. */
export type NoteMove =
  | {
      readonly kind: 'add';
      readonly scope: NoteScope;
      readonly note: Note;
      readonly notesMax: number;
    }
  | { readonly kind: 'clear'; readonly scope: NoteScope };
