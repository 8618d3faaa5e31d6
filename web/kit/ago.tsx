import { useNow } from './use-now.ts';
import { ago } from './words.ts';

/** How long ago something was, as time passes: `just now`, `3 min ago`. */
export function Ago({ at }: { readonly at: number }) {
  return ago(at, useNow());
}
