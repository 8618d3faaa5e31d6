/** The rows that can be taken now, by channel and box, and all unsettled rows of each channel. */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { isOnChannel } from '../../domain/records.ts';
import { LinkedSet, Queue } from '../../lib/queue.ts';
import { ReadyNotifier } from './ready-notifier.ts';
import type { InRow, OutRow, Row } from './queue.ts';
import type { ChannelBacklog } from '../ledger.ts';

type ChannelQueues = {
  readonly in: Queue<InRow>;
  readonly out: Queue<OutRow>;
  /** All unsettled rows in the order in which they were added. */
  readonly inbox: LinkedSet<InRow>;
  readonly outbox: LinkedSet<OutRow>;
};

export class ReadyQueues {
  readonly #channels = new Map<ChannelKey, ChannelQueues>();
  readonly #notifier = new ReadyNotifier();

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#notifier.onReady(wake);
  }

  /** Adds a row behind all others that can be taken. */
  offer(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.in.push(row);
    else queues.out.push(row);
    this.#notifier.ring(row.box, row.queue.channel);
  }

  /** Adds a row before all others that can be taken. */
  offerFirst(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.in.unshift(row);
    else queues.out.unshift(row);
    this.#notifier.ring(row.box, row.queue.channel);
  }

  /** Notifies the listeners that a row may be claimable. */
  ring(box: Box, channel: ChannelKey): void {
    this.#notifier.ring(box, channel);
  }

  /** Notifies the listeners of every channel that has rows to take. */
  ringAll(): void {
    for (const [channel, queues] of this.#channels) {
      if (queues.in.length > 0) this.#notifier.ring('in', channel);
      if (queues.out.length > 0) this.#notifier.ring('out', channel);
    }
  }

  take(box: Box, channel: ChannelKey): Row | undefined {
    return this.#channels.get(channel)?.[box].shift();
  }

  /** Withdraws offered messages. @returns those that were offered */
  withdraw(channel: ChannelKey, matches: (row: InRow) => boolean): readonly InRow[] {
    return this.#channels.get(channel)?.in.extract(matches) ?? [];
  }

  /** Withdraws the offered rows that are removed. */
  withdrawGone(channel: ChannelKey): void {
    const queues = this.#channels.get(channel);
    queues?.in.extract(({ gone }) => gone);
    queues?.out.extract(({ gone }) => gone);
  }

  /** Adds an unsettled row. */
  addUnsettled(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.inbox.add(row);
    else queues.outbox.add(row);
  }

  /** Removes a row that is settled or gone. */
  removeUnsettled(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.inbox.delete(row);
    else queues.outbox.delete(row);
  }

  /** How many rows are unsettled, those of channels without a worker pool included. */
  unsettled(box: Box): number {
    let rows = 0;
    for (const queues of this.#channels.values())
      rows += queues[box === 'in' ? 'inbox' : 'outbox'].size;
    return rows;
  }

  backlog(): readonly Omit<ChannelBacklog, 'unroutableSince'>[] {
    return [...this.#channels]
      .filter(([, { inbox, outbox }]) => inbox.size + outbox.size > 0)
      .map(([channel, { inbox, outbox }]) => ({
        channel,
        inbox: inbox.size,
        outbox: outbox.size,
        oldestAt: Math.min(
          inbox.first?.head.acceptedAt ?? Infinity,
          outbox.first?.head.createdAt ?? Infinity,
        ),
        oldestReplyAt: outbox.first?.head.createdAt ?? null,
      }));
  }

  /** How many replies can be taken now: of one channel, one type of channel, or all (null). */
  repliesReady(channel: string | null): number {
    let ready = 0;
    for (const [key, { out }] of this.#channels) if (isOnChannel(key, channel)) ready += out.length;
    return ready;
  }

  close(): void {
    this.#notifier.close();
  }

  #of(channel: ChannelKey): ChannelQueues {
    let queues = this.#channels.get(channel);
    if (queues === undefined) {
      const rows = { inbox: new LinkedSet<InRow>(), outbox: new LinkedSet<OutRow>() };
      queues = { in: new Queue(), out: new Queue(), ...rows };
      this.#channels.set(channel, queues);
    }
    return queues;
  }
}
