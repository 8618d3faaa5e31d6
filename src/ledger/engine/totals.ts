/** How much a working set holds, and how much of it is handed out. */
import type { Box } from '../../domain/event.ts';
import type { OutRow, MessageProgress } from './queue.ts';
import type { ReadyQueues } from './ready-queues.ts';

export class Totals {
  /** Unsettled messages with their replies, and their bytes. */
  unsettled = 0;
  bytes = 0;
  readonly claimed: Record<Box, number> = { in: 0, out: 0 };

  addMessage({ bytes }: MessageProgress): void {
    this.unsettled++;
    this.bytes += bytes;
  }

  /** @param of the progress of the message that the reply answers; null: the message is gone */
  addReply({ bytes }: OutRow, of: MessageProgress | null): void {
    if (of === null) this.unsettled++;
    else of.open++;
    this.bytes += bytes;
  }

  removeReply({ bytes }: OutRow): void {
    this.bytes -= bytes;
  }

  /** Counts a row as closed. With the last row of a message, the message is settled. */
  closeRow(progress: MessageProgress): void {
    if (--progress.open > 0) return;
    this.unsettled--;
    this.bytes -= progress.bytes;
    progress.close();
  }

  /**
   * @param deferred replies that wait for their next attempt
   * @param queues conversations that have rows
   */
  gauges(ready: ReadyQueues, deferred: number, queues: number) {
    const { claimed } = this;
    return {
      inboxWaiting: ready.unsettled('in') - claimed.in,
      inboxClaimed: claimed.in,
      outboxWaiting: ready.unsettled('out') - claimed.out - deferred,
      outboxClaimed: claimed.out,
      outboxDeferred: deferred,
      bytesHeld: this.bytes,
      conversationsAtWork: queues,
    };
  }
}
