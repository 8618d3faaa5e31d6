/**
 * How private an edit is at least: as private as the message that it changes, whatever brain
 * answers the channel by now.
 */
import type { Handled } from '../channels/channel.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isPublicSince, publicSinceOf } from './public-since.ts';

/** More than the channels remember of questions; what is forgotten is judged by its time. */
const knownMax = 5_000;

export class EditLabels {
  readonly #ledger: Pick<Ledger, 'cursor'>;
  /** Messages that this process itself accepted as public, the oldest first. */
  readonly #public = new Set<string>();

  constructor(ledger: Pick<Ledger, 'cursor'>) {
    this.#ledger = ledger;
  }

  /**
   * The batch, with a label on each edit. An edit is public only where its message is known to be:
   * this process accepted the message as public, or the channel was public when it was said.
   */
  async label(channel: ChannelKey, batch: readonly Inbound[]): Promise<readonly Inbound[]> {
    if (batch.every(({ edits }) => edits === undefined)) return batch;
    const since = await publicSinceOf(this.#ledger, channel);
    return batch.map((message): Inbound => {
      const { edits, saidAt } = message;
      if (edits === undefined) return message;
      const wasPublic = saidAt !== undefined && isPublicSince(since, saidAt.at);
      const isPublic = wasPublic || this.#public.has(nameOf(channel, edits));
      return { ...message, sensitivity: isPublic ? 'public' : 'private' };
    });
  }

  /**
   * To be told what became of a batch. A resend says nothing: the first of it may be private.
   * @param sensitivity of the brain that answered the channel when the batch was accepted
   */
  accepted(batch: readonly Inbound[], handled: Handled, sensitivity: Sensitivity): void {
    if (handled.kind !== 'accepted' || sensitivity === 'private') return;
    for (const [at, { channel, dedupeKey, edits }] of batch.entries()) {
      const receipt = handled.receipts[at];
      if (dedupeKey === null || edits !== undefined || receipt?.duplicate !== false) continue;
      this.#public.add(nameOf(channel, dedupeKey));
      if (this.#public.size <= knownMax) continue;
      const [oldest] = this.#public;
      this.#public.delete(oldest!);
    }
  }
}

function nameOf(channel: ChannelKey, key: string): string {
  return `${channel} ${key}`;
}
