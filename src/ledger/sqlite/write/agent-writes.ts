/** What a finished turn writes of an agent's notes and of its uses of tools. */
import type { Message } from '../../../domain/message.ts';
import type { NoteMove, NotesOf } from '../../../domain/note.ts';
import type { BegunCall, ToolUseWithResult } from '../../../domain/tool-use.ts';
import { labelOf } from '../ledger/sensitivity-labels.ts';
import type { Write } from './statements.ts';

/** @param nextSeq numbers the notes in the order of the commits */
export function noteWrites(
  { channel, conversation }: Message,
  moves: readonly NoteMove[],
  nextSeq: () => number,
): readonly Write[] {
  return moves.flatMap((move): readonly Write[] => {
    const { scope } = move;
    const of: NotesOf = scope.kind === 'brain' ? scope : { ...scope, channel, conversation };
    if (move.kind === 'clear') return [notesCleared(of, nextSeq())];
    const { note, notesMax } = move;
    const brain = scope.kind === 'brain' ? scope.brain : null;
    return [
      [
        'note',
        nextSeq(),
        brain,
        channel,
        conversation,
        note.at,
        labelOf(note.sensitivity),
        note.text,
      ],
      brain === null
        ? ['notesCut', channel, conversation, notesMax]
        : ['brainNotesCut', brain, notesMax],
    ];
  });
}

/** @param before notes numbered from `before` on stay */
export function notesCleared(of: NotesOf, before: number): Write {
  return of.kind === 'brain'
    ? ['brainNotesCleared', of.brain, before]
    : ['notesCleared', of.channel, of.conversation, before];
}

/** A call that is to run: it is in the audit from now on, with an unknown end. */
export function begunWrites(
  message: Message,
  { hash, sensitivity, ...use }: BegunCall,
  nextSeq: () => number,
): readonly Write[] {
  return [
    ['toolBegun', use.key, message.id, use.tool, hash, labelOf(sensitivity)],
    ...toolUseWrites(message, [{ ...use, ms: 0, outcome: 'unknown', told: null }], nextSeq),
  ];
}

export function toolUseWrites(
  { id, channel, conversation }: Message,
  uses: readonly ToolUseWithResult[],
  nextSeq: () => number,
): readonly Write[] {
  return uses.map((use): Write => {
    const { key, at, ms, tool, mode, rule, outcome, told } = use;
    const place = [nextSeq(), key, id, channel, conversation] as const;
    return ['toolUse', ...place, at, ms, tool, mode, rule, outcome, use.arguments, told];
  });
}
