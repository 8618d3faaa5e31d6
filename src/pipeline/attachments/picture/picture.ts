/**
 * Pictures are made anew before a model sees them: without what was hidden in the file (places,
 * names of cameras, other data), and no larger than models look at.
 *
 * What it promises: it does not throw (a failure is a value), and one picture takes bounded time
 * and memory, whatever its file says of itself. What it may not do: keep a picture.
 * Who calls it: the flow, before a brain is asked.
 */
import type { Picture } from '../../../domain/attachment.ts';
import type { Stop } from '../../../lib/stop.ts';

export interface Pictures extends AsyncDisposable {
  /**
   * Waits for its turn until it is stopped, however many wait already. One of each who waits is
   * made in turn, whoever has brought how many.
   */
  remake(bytes: Uint8Array, whose: string, stop: Stop): Promise<Remade>;
}

/**
 * `too_large`: it takes more memory or time than there is for it. `unknown`: no format that is
 * read, damaged, or more than it says of itself.
 */
export type Remade =
  | { readonly kind: 'remade'; readonly picture: Picture }
  | { readonly kind: 'too_large' | 'unknown' | 'stopped' };

/** JPEG, PNG and GIF (its first frame), by the MIME types that platforms tell. */
export const pictureTypes: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/jpg',
  'image/png',
  'image/gif',
]);
