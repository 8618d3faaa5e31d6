/** Cleans a token that a person pasted. */
import { partsOf } from './visible.ts';

export type PastedToken =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'fault'; readonly fault: string };

/** A pasted token, without the white space and invisible characters around it. */
export function readPasted(written: string): PastedToken {
  const parts = partsOf(written.trim());
  const first = parts.findIndex(({ kind }) => kind === 'text');
  const last = parts.findLastIndex(({ kind }) => kind === 'text');
  if (first === -1) return { kind: 'fault', fault: 'Write the token.' };
  const inside = parts.slice(first, last + 1);
  const mark = inside.find(({ kind }) => kind === 'mark');
  if (mark !== undefined) {
    const fault = `It holds what cannot be seen (${mark.text}): copy it anew, or write it.`;
    return { kind: 'fault', fault };
  }
  return { kind: 'token', token: inside[0]!.text.trim() };
}
