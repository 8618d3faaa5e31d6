/** Replies of which a try failed, and that wait for the next one: a part of the ledger. */
import type { DeferredGroup, TriedNow, WhichDeferred } from '../domain/records.ts';

export interface DeferredReplies {
  /**
   * How many there are of each channel and reason, most frequent first; of very many groups the
   * largest hundred. It reads no list that grows with them.
   */
  groups(): Promise<readonly DeferredGroup[]>;
  /**
   * The next try of such a reply is now. It keeps its place in its conversation and its number of
   * attempts; where the try fails, the pause that it waited in begins anew, so that no such try
   * brings it nearer to its end. One that is being tried, or can be, is left as it is.
   * @param most how many are moved at once; fewer where many wait to be handed out already
   */
  tryNow(which: WhichDeferred, most: number): Promise<TriedNow>;
}
