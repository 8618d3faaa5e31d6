/** What can be taken now from the boxes of each channel, and how many unsettled rows it has. */
import type { Box } from '../../../domain/event.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { isOnChannel } from '../../../domain/records.ts';
import { LinkedSet, Queue } from '../../../lib/queue.ts';
import { ReadyNotifier } from './ready-notifier.ts';
import type { InRow, OutRow, Row } from './rows.ts';
import type { ChannelBacklog } from '../../ledger.ts';

type ChannelQueues = {
  readonly in: Queue<InRow>;
  readonly out: Queue<OutRow>;
  /** The unsettled rows in the order in which they came: what can be taken is among them. */
  readonly inbox: LinkedSet<InRow>;
  readonly outbox: LinkedSet<OutRow>;
};

export class ReadyQueues {
  readonly #channels = new Map<ChannelKey, ChannelQueues>();
  readonly #notifier = new ReadyNotifier();

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#notifier.onReady(wake);
  }

  /** Behind all that can be taken already. */
  offer(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.in.push(row);
    else queues.out.push(row);
    this.#notifier.ring(row.box, row.queue.channel);
  }

  /** Before all that can be taken already. */
  offerFirst(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.in.unshift(row);
    else queues.out.unshift(row);
    this.#notifier.ring(row.box, row.queue.channel);
  }

  /** Tells that something may be claimable. */
  ring(box: Box, channel: ChannelKey): void {
    this.#notifier.ring(box, channel);
  }

  /** The same for whatever can be taken. */
  ringAll(): void {
    for (const [channel, queues] of this.#channels) {
      if (queues.in.length > 0) this.#notifier.ring('in', channel);
      if (queues.out.length > 0) this.#notifier.ring('out', channel);
    }
  }

  take(box: Box, channel: ChannelKey): Row | undefined {
    return this.#channels.get(channel)?.[box].shift();
  }

  /** Messages that are not to be taken now. @returns those that could be */
  withdraw(channel: ChannelKey, matches: (row: InRow) => boolean): readonly InRow[] {
    return this.#channels.get(channel)?.in.extract(matches) ?? [];
  }

  /** What was taken away can no longer be taken. */
  forgetGone(channel: ChannelKey): void {
    const queues = this.#channels.get(channel);
    queues?.in.extract(({ gone }) => gone);
    queues?.out.extract(({ gone }) => gone);
  }

  /** There is one unsettled row more. */
  came(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.inbox.add(row);
    else queues.outbox.add(row);
  }

  /** It is settled, or gone. */
  went(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.inbox.delete(row);
    else queues.outbox.delete(row);
  }

  /** Unsettled rows of every channel, those without a pump included. */
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

  /** How many replies can be taken now, of a channel or a type of channels; null: of all. */
  repliesReady(channel: string | null): number {
    let ready = 0;
    for (const [key, { out }] of this.#channels) if (isOnChannel(key, channel)) ready += out.length;
    return ready;
  }

  close(): void {
    this.#notifier.silence();
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
