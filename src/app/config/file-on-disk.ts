/** What is at the path of the configuration file: a text, none, or an unreadable file. */
import { stat } from 'node:fs/promises';
import { readConfigText, revisionOf } from '../../config/inspect.ts';

/** Without a text, `revision` is that of an empty text. `why` is a part of a sentence. */
export type Disk =
  | {
      readonly kind: 'text';
      readonly revision: string;
      readonly text: string;
      /** Milliseconds since 1970. */
      readonly savedAt: number;
      readonly writableByOthers: boolean;
    }
  | { readonly kind: 'missing' | 'unreadable'; readonly revision: string; readonly why: string };

export async function readDisk(file: string): Promise<Disk> {
  const read = await readConfigText(file, 'file');
  if (read.kind === 'problem') {
    const kind = read.code === 'file_missing' ? 'missing' : 'unreadable';
    return { kind, revision: revisionOf(''), why: read.message };
  }
  const { text, writableByOthers } = read;
  const facts = await stat(file).catch(() => null);
  const savedAt = Math.floor(facts?.mtimeMs ?? Date.now());
  return { kind: 'text', revision: revisionOf(text), text, savedAt, writableByOthers };
}
