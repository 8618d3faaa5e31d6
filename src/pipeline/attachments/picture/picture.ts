/**
 * Re-encodes pictures before a model sees them: without hidden data of the file (places, camera
 * names and so on), and no larger than models use.
 *
 * It promises: it does not throw (a failure is a value), and one picture takes bounded time and
 * memory, whatever its file says of itself. It may not keep a picture. The pipeline calls it before
 * a brain is asked.
 */
import type { Picture } from '../../../domain/attachment.ts';
import type { Stop } from '../../../lib/stop.ts';

export interface Pictures extends AsyncDisposable {
  /**
   * Waits until it is its turn, or until it is stopped, however many pictures wait already. People
   * take turns, one picture each, however many pictures each of them sent.
   */
  remake(bytes: Uint8Array, owner: string, stop: Stop): Promise<Remade>;
}

/**
 * `too_large`: the picture needs more memory or time than allowed. `unknown`: the format is not
 * supported, the file is damaged, or it holds more than its header says.
 */
export type Remade =
  | { readonly kind: 'remade'; readonly picture: Picture }
  | { readonly kind: 'too_large' | 'unknown' | 'stopped' };
