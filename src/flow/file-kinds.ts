/** What svc makes of a file, by the type that its platform tells and by its name. Pure. */
import type { Media } from '../domain/message.ts';
import { pictureTypes } from '../picture/picture.ts';

export type FileKind = 'picture' | 'spoken' | 'text' | 'unknown';

const textTypes = new RegExp(
  [
    '^text/',
    '^application/(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|x-ndjson)$',
    '\\+(?:json|xml)$',
  ].join('|'),
);
/** Of texts and of programs in wide use. */
const textEndings = new Set(
  (
    'txt md markdown csv tsv log json jsonl yml yaml toml ini conf xml htm html css sql ' +
    'diff patch srt tex js jsx cjs mjs ts tsx cts mts py rb go rs java kt swift c h cc ' +
    'cpp hpp cs php pl lua r sh bash ps1'
  ).split(' '),
);

export function kindOfFile({ type, reference }: Media): FileKind {
  const plain = (type ?? '').toLowerCase().split(';', 1)[0]!.trim();
  if (pictureTypes.has(plain)) return 'picture';
  if (plain.startsWith('audio/')) return 'spoken';
  const ending = /\.(\w+)$/.exec(reference)?.[1]?.toLowerCase() ?? '';
  if (textTypes.test(plain) || textEndings.has(ending)) return 'text';
  return 'unknown';
}

const textCharactersMax = 20_000;

/** @returns the text, its beginning where it is long; null: it is none */
export function textIn(bytes: Uint8Array): string | null {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
  if (text.includes('\0')) return null;
  if (text.length <= textCharactersMax) return text;
  const kept = text.slice(0, textCharactersMax).toWellFormed();
  return `${kept}\n[… the first ${textCharactersMax.toLocaleString('en-US')} characters]`;
}
