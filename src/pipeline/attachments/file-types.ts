/**
 * What svc makes of a file, by the type that its platform tells and by its name, and how a text is
 * read. Pure.
 */
import { keptReading } from '../../domain/kept-text.ts';
import type { Media } from '../../domain/message.ts';
import { pictureTypes } from './picture/picture.ts';

/** `untold`: what is in it has to say whether it is a text or a picture. */
export type FileKind = 'picture' | 'spoken' | 'text' | 'untold' | 'unknown';

const textTypes = new RegExp(
  [
    '^text/',
    '^application/(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|x-ndjson)$',
    '\\+(?:json|xml)$',
  ].join('|'),
);
/** Say nothing of what is in a file; `document` is what a messenger calls each. */
const untellingTypes = new Set(['', 'document', 'application/octet-stream']);
/** Of texts and of programs in wide use. */
const textEndings = new Set(
  (
    'txt md markdown csv tsv log json jsonl yml yaml toml ini conf xml htm html css sql ' +
    'diff patch srt tex js jsx cjs mjs ts tsx cts mts py rb go rs java kt swift c h cc ' +
    'cpp hpp cs php pl lua r sh bash ps1'
  ).split(' '),
);

/** Of those that are read. */
const pictureEndings = new Set(['jpg', 'jpeg', 'png', 'gif']);

export function kindOfFile({ type, reference, file }: Media): FileKind {
  if (file === undefined) return 'unknown';
  const plain = (type ?? '').toLowerCase().split(';', 1)[0]!.trim();
  if (pictureTypes.has(plain)) return 'picture';
  if (plain.startsWith('audio/')) return 'spoken';
  const ending = /\.(\w+)$/.exec(reference)?.[1]?.toLowerCase() ?? '';
  if (textTypes.test(plain) || textEndings.has(ending)) return 'text';
  if (!untellingTypes.has(plain)) return 'unknown';
  return pictureEndings.has(ending) ? 'picture' : 'untold';
}

/**
 * UTF-8, UTF-16 that begins with its mark, or Windows-1252.
 * @returns the text, its beginning where it is long; null: it is none, or in another encoding
 */
export function textIn(bytes: Uint8Array): string | null {
  const marked = markedIn(bytes);
  const text = decode(bytes, marked ?? 'utf-8') ?? (marked === null ? westernIn(bytes) : null);
  return text === null || text.includes('\0') ? null : keptReading(text, '\n');
}

/** As `textIn`, of a file that nothing else calls a text: one with control characters is none. */
export function textInUntold(bytes: Uint8Array): string | null {
  const text = textIn(bytes);
  return text === null || controlCharacters.test(text) ? null : text;
}

/** But for tabs, and ends of lines and of pages. */
const controlCharacters = /[\p{Cc}--[\t\n\r\f]]/v;
/** What hardly a word of Western Europe has; words of other scripts have it when read as such. */
const otherScript = /[À-ÖØ-öø-ÿ]{3}/;

function westernIn(bytes: Uint8Array): string | null {
  const text = decode(bytes, 'windows-1252');
  if (text === null || controlCharacters.test(text) || otherScript.test(text)) return null;
  return text;
}

function markedIn([first, second]: Uint8Array): 'utf-16le' | 'utf-16be' | null {
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
