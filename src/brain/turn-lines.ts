import type { Attachment, Picture } from '../domain/attachment.ts';
import {
  linesOf,
  type HistoryLine,
  type QuotedBlock,
  type TurnRow,
} from '../domain/conversation.ts';
import type { Media } from '../domain/message.ts';
import type { EarlierPictures, Turn } from './brain.ts';
import { withSpeaker, withQuote } from '../domain/surroundings.ts';

/**
 * The history, and last what the person said, with what came with it below, and what it replies to.
 * @param quoted as far as the model may be shown it
 * @param pictured of the history; null: the model sees none, and is told that there are some
 */
export function linesOfTurn(
  turn: Pick<Turn, 'message' | 'text' | 'attachments'>,
  history: readonly TurnRow[],
  pictured: EarlierPictures | null = null,
  quoted: QuotedBlock | null = null,
): readonly HistoryLine[] {
  const { message, attachments } = turn;
  const sees = pictured !== null;
  const before = sees ? linesWith(history, pictured) : linesOf(history);
  const text = withSpeaker(message, turn.text);
  const shown =
    attachments === undefined ? lineOfMessage(message, text) : lineWith(text, attachments, sees);
  return [...before, { ...shown, text: withQuote(shown.text, quoted) }];
}

function lineOfMessage({ media, further = [] }: Turn['message'], text: string): HistoryLine {
  if (media === null) return { role: 'user', text };
  return { role: 'user', text: joined(text, [media, ...further].map(lineOfMedia)) };
}

function linesWith(history: readonly TurnRow[], pictured: EarlierPictures): readonly HistoryLine[] {
  return history.flatMap((row) => {
    const pictures = pictured.get(row);
    const lines = linesOf([row]);
    if (pictures === undefined) return lines;
    return lines.map((line) => (line.role === 'user' ? { ...line, pictures } : line));
  });
}

function lineWith(text: string, attachments: readonly Attachment[], sees: boolean): HistoryLine {
  const pictures: Picture[] = [];
  const lines: string[] = [];
  for (const one of attachments) {
    if (one.kind === 'picture' && sees) pictures.push(one.picture);
    else lines.push(lineOf(one));
  }
  const line = { role: 'user', text: joined(text, lines) } as const;
  return pictures.length === 0 ? line : { ...line, pictures };
}

function lineOf(attachment: Attachment): string {
  const name = attachment.name.replace(/[\r\n[\]]+/g, ' ');
  switch (attachment.kind) {
    case 'picture':
      return `[picture: ${name}: this model cannot see it]`;
    case 'text':
      return `[file: ${name}]\n${fenced(attachment.text)}`;
    case 'spoken':
      return `[voice message] ${attachment.text}`;
    case 'unread':
      return `[attachment: ${name}: ${attachment.why}]`;
    default:
      return attachment satisfies never;
  }
}

/** Nothing in the text ends its fence. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

function lineOfMedia({ type, reference }: Media): string {
  return `[attachment: ${type === null ? '' : `${type} `}${reference}]`;
}

function joined(text: string, lines: readonly string[]): string {
  return (text === '' ? lines : [text, ...lines]).join('\n');
}
