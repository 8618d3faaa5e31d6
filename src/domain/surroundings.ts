/** The context of a message, in words for a model. */
import type { Attachment } from './attachment.ts';
import type { QuotedBlock } from './conversation.ts';
import { mediaOf, type Media, type Message, type Quoted } from './message.ts';
import { beginning, quotedLines } from './reply.ts';

const nameCharactersMax = 64;

/** The text with its speaker (in a group), and with the source of a forwarded text. */
export function withSpeaker(
  { sender, context }: Pick<Message, 'sender' | 'context'>,
  text: string,
) {
  if (context === undefined) return text;
  const { inGroup, forwardedFrom } = context;
  const name = inGroup === true ? nameOf(sender.name) : null;
  const body = forwardedFrom === undefined ? text : forwarded(forwardedFrom, text);
  return name === null ? body : `${name}: ${body}`;
}

function forwarded(from: string | null, text: string): string {
  const name = nameOf(from);
  const line = name === null ? '[forwarded]' : `[forwarded from ${name}]`;
  return text === '' ? line : `${line}\n${text}`;
}

/** The text, with one line below it for each attachment. */
export function withLines(text: string, lines: readonly string[]): string {
  return (text === '' ? lines : [text, ...lines]).join('\n');
}

/**
 * An attachment in words, the same in this turn and in later ones.
 * @param isSeen false: a picture that this model does not see
 */
export function lineOfAttachment(attachment: Attachment, isSeen = true): string {
  const name = attachment.name.replace(/[\r\n[\]]+/g, ' ');
  switch (attachment.kind) {
    case 'picture':
      return `[picture: ${name}${isSeen ? '' : ': it is not shown to this model'}]`;
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

/**
 * The text, with one line below it for each attachment of the message. For channels where svc
 * fetches none.
 */
export function withMediaLines(message: Pick<Message, 'media' | 'further'>, text: string): string {
  return withLines(text, mediaOf(message).map(lineOfMedia));
}

function lineOfMedia({ type, reference }: Media): string {
  return `[attachment: ${type === null ? '' : `${type} `}${reference}]`;
}

/** A fenced block. Nothing in the text can end the fence. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

/**
 * A quotation, with its author.
 * @param isShown whether the model sees this attachment beside it
 */
export function quoteBlock(
  { text, media = [], by, name }: Quoted,
  isShown: (media: Media) => boolean = () => false,
): string {
  const files = media.map((one) => {
    const file = nameOf(one.reference) ?? 'file';
    return isShown(one) ? `[${file}]` : `[${file}: not shown here]`;
  });
  const lines = text === '' ? files : [text, ...files];
  return `${headOf(by, nameOf(name))}\n${quotedLines(lines.join('\n'))}`;
}

/** Replaces a quotation that a model does not see, so that the model does not guess. */
export const unshownQuote: QuotedBlock = {
  text: '[replying to a message that you are not shown]',
  sensitivity: 'public',
};

function headOf(by: Quoted['by'], name: string | null): string {
  if (by === 'us') return 'Replying to your earlier answer:';
  if (by === 'sender') return 'Replying to their own earlier message:';
  return name === null ? 'Replying to a message of another:' : `Replying to ${name}:`;
}

/**
 * The text as models see it, now and in later turns.
 * @param quote null: there is none
 */
export function withQuote(text: string, quote: QuotedBlock | null | undefined): string {
  if (quote === null || quote === undefined) return text;
  return text === '' ? quote.text : `${text}\n\n${quote.text}`;
}

/**
 * The name on one line, without characters that end a name here. People choose their names, so no
 * part of a name may look like a line, a role or a bracket of svc's.
 */
function nameOf(name: string | null): string | null {
  const plain = (name ?? '')
    .toWellFormed()
    .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
    .replace(/[[\]:>]+/g, ' ')
    .replace(/ +/g, ' ');
  const short = beginning(plain.trim(), nameCharactersMax).trim();
  return short === '' ? null : isRole.test(short) ? `"${short}"` : short;
}

const isRole = /^(?:system|assistant|user|tool|developer|svc|you)$/i;
