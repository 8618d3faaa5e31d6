/**
 * Which kind a file is, by its platform's type and by its name, and how its text is decoded. Pure.
 */
import { keptReading } from '../../domain/kept-text.ts';
import type { Media } from '../../domain/message.ts';
import { pictureTypes } from '../../domain/attachment.ts';

/**
 * `untold`: neither type nor name says so; the content decides whether it is a text or a picture.
 */
export type FileKind = 'picture' | 'spoken' | 'text' | 'untold' | 'unknown';

const textTypes = new RegExp(
  [
    '^text/',
    '^application/(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|x-ndjson)$',
    '\\+(?:json|xml)$',
  ].join('|'),
);
/** Types that do not tell the content; `document` is what a messenger calls every file. */
const genericTypes = new Set(['', 'document', 'application/octet-stream']);
/** Endings of texts and of widely used programming languages. */
const textExtensions = new Set(
  (
    'txt md markdown csv tsv log json jsonl yml yaml toml ini conf xml htm html css sql ' +
    'diff patch srt tex js jsx cjs mjs ts tsx cts mts py rb go rs java kt swift c h cc ' +
    'cpp hpp cs php pl lua r sh bash ps1'
  ).split(' '),
);

/** Endings of the picture formats that svc reads. */
const pictureExtensions = new Set(['jpg', 'jpeg', 'png', 'gif']);

export function kindOfFile({ type, reference, file }: Media): FileKind {
  if (file === undefined) return 'unknown';
  const mimeType = (type ?? '').toLowerCase().split(';', 1)[0]!.trim();
  if (pictureTypes.has(mimeType)) return 'picture';
  if (mimeType.startsWith('audio/')) return 'spoken';
  const extension = /\.(\w+)$/.exec(reference)?.[1]?.toLowerCase() ?? '';
  if (textTypes.test(mimeType) || textExtensions.has(extension)) return 'text';
  if (!genericTypes.has(mimeType)) return 'unknown';
  return pictureExtensions.has(extension) ? 'picture' : 'untold';
}

/**
 * Decodes UTF-8, UTF-16 with a byte order mark, or Windows-1252.
 * @returns the text, or the beginning of a long one; null: it is no text, or in another encoding
 */
export function textIn(bytes: Uint8Array): string | null {
  const encoding = encodingByMark(bytes);
  const text =
    decode(bytes, encoding ?? 'utf-8') ?? (encoding === null ? windows1252TextIn(bytes) : null);
  return text === null || text.includes('\0') ? null : keptReading(text, '\n');
}

/** Like `textIn`, for a file that nothing else calls a text: control characters make it none. */
export function textInUnlabelled(bytes: Uint8Array): string | null {
  const text = textIn(bytes);
  return text === null || controlCharacters.test(text) ? null : text;
}

/** Control characters, except tabs and the ends of lines and pages. */
const controlCharacters = /[\p{Cc}--[\t\n\r\f]]/v;
/** Hardly a Western European word has these; words of other scripts have them when misread. */
const otherScript = /[À-ÖØ-öø-ÿ]{3}/;

function windows1252TextIn(bytes: Uint8Array): string | null {
  const text = decode(bytes, 'windows-1252');
  if (text === null || controlCharacters.test(text) || otherScript.test(text)) return null;
  return text;
}

function encodingByMark([first, second]: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : null;
}

function decode(bytes: Uint8Array, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
