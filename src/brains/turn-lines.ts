import { linesOf, type HistoryLine } from '../domain/conversation.ts';
import type { QuotedBlock, TurnRow } from '../domain/conversation.ts';
import { lineOfAttachment, withLines, withMediaLines } from '../domain/surroundings.ts';
import { withSpeaker, withQuote } from '../domain/surroundings.ts';
import type { EarlierPictures, Turn } from './brain.ts';

/** A line as the model is shown it. `row`: whose line it is; null: the newest one. */
export type Reworded = (line: HistoryLine, row: TurnRow | null) => Omit<HistoryLine, 'role'>;

/**
 * The history, and last what the person said, with what came with it below, and what it replies to.
 * The newest line is byte for byte what the next turn has of it in its history, so that a provider
 * need not read all before it again. Two lines differ: that of a long file, of which later turns
 * have the beginning, and that of a picture that the model is not shown.
 * @param quoted as far as the model may be shown it
 * @param pictured of the history; null: the model sees none, and is told that there are some
 * @param reworded absent: each line has its own text
 */
export function linesOfTurn(
  turn: Pick<Turn, 'message' | 'text' | 'attachments'>,
  history: readonly TurnRow[],
  pictured: EarlierPictures | null = null,
  quoted: QuotedBlock | null = null,
  reworded?: Reworded,
): readonly HistoryLine[] {
  const before =
    pictured === null && reworded === undefined
      ? linesOf(history)
      : history.flatMap((row) => linesWith(row, pictured, reworded));
  const newest = newestLine(turn, pictured !== null, quoted);
  return [...before, reworded === undefined ? newest : { ...newest, ...reworded(newest, null) }];
}

function newestLine(
  { message, text, attachments }: Pick<Turn, 'message' | 'text' | 'attachments'>,
  sees: boolean,
  quoted: QuotedBlock | null,
): HistoryLine {
  const said =
    attachments === undefined
      ? withMediaLines(message, text)
      : withLines(
          text,
          attachments.map((one) => lineOfAttachment(one, sees)),
        );
  const line = { role: 'user', text: withQuote(withSpeaker(message, said), quoted) } as const;
  const pictures = (attachments ?? []).flatMap((one) =>
    one.kind === 'picture' && sees ? [one.picture] : [],
  );
  return pictures.length === 0 ? line : { ...line, pictures };
}

function linesWith(
  row: TurnRow,
  pictured: EarlierPictures | null,
  reworded: Reworded | undefined,
): readonly HistoryLine[] {
  const pictures = pictured?.get(row);
  return linesOf([row]).map((line) => {
    const told = reworded === undefined ? line : { ...line, ...reworded(line, row) };
    return pictures !== undefined && line.role === 'user' ? { ...told, pictures } : told;
  });
}
