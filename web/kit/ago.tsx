import { useNow } from './use-now.ts';
import { ago } from './words.ts';

/** The age of a moment, updated as time passes: `just now`, `3 min ago`. */
export function Ago({ at }: { readonly at: number }) {
  return ago(at, useNow());
}
