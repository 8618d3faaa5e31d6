/** What can be taken now from the boxes of each channel, and how many unsettled rows it has. */
import type { Box } from '../domain/event.ts';
import type { ChannelKey } from '../domain/ids.ts';
import { LinkedSet } from '../lib/linked-set.ts';
import { Queue } from '../lib/queue.ts';
import { Bell } from './bell.ts';
import type { InRow, OutRow, Row } from './rows.ts';
import type { ChannelBacklog } from './store.ts';

type Side = {
  readonly in: Queue<InRow>;
  readonly out: Queue<OutRow>;
  /** The unsettled rows in the order in which they came: what can be taken is among them. */
  readonly inbox: LinkedSet<InRow>;
  readonly outbox: LinkedSet<OutRow>;
};

export class Sides {
  readonly #sides = new Map<ChannelKey, Side>();
  readonly #bell = new Bell();

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#bell.onRing(wake);
  }

  /** Behind all that can be taken already. */
  offer(row: Row): void {
    const side = this.#of(row.lane.channel);
    if (row.box === 'in') side.in.push(row);
    else side.out.push(row);
    this.#bell.ring(row.box, row.lane.channel);
  }

  /** Before all that can be taken already. */
  offerFirst(row: Row): void {
    const side = this.#of(row.lane.channel);
    if (row.box === 'in') side.in.unshift(row);
    else side.out.unshift(row);
    this.#bell.ring(row.box, row.lane.channel);
  }

  /** Tells that something may be claimable. */
  ring(box: Box, channel: ChannelKey): void {
    this.#bell.ring(box, channel);
  }

  /** The same for whatever can be taken. */
  ringAll(): void {
    for (const [channel, side] of this.#sides) {
      if (side.in.length > 0) this.#bell.ring('in', channel);
      if (side.out.length > 0) this.#bell.ring('out', channel);
    }
  }

  take(box: Box, channel: ChannelKey): Row | undefined {
    return this.#sides.get(channel)?.[box].shift();
  }

  /** What was taken away can no longer be taken. */
  forgetGone(channel: ChannelKey): void {
    const side = this.#sides.get(channel);
    side?.in.extract(({ gone }) => gone);
    side?.out.extract(({ gone }) => gone);
  }

  /** There is one unsettled row more. */
  came(row: Row): void {
    const side = this.#of(row.lane.channel);
    if (row.box === 'in') side.inbox.add(row);
    else side.outbox.add(row);
  }

  /** It is settled, or gone. */
  went(row: Row): void {
    const side = this.#of(row.lane.channel);
    if (row.box === 'in') side.inbox.delete(row);
    else side.outbox.delete(row);
  }

  /** Unsettled rows of every channel, those without a pump included. */
  unsettled(box: Box): number {
    let rows = 0;
    for (const side of this.#sides.values()) rows += side[box === 'in' ? 'inbox' : 'outbox'].size;
    return rows;
  }

  backlog(): readonly Omit<ChannelBacklog, 'unroutableSince'>[] {
    return [...this.#sides]
      .filter(([, { inbox, outbox }]) => inbox.size + outbox.size > 0)
      .map(([channel, { inbox, outbox }]) => ({
        channel,
        inbox: inbox.size,
        outbox: outbox.size,
        oldestAt: Math.min(
          inbox.first?.message.acceptedAt ?? Infinity,
          outbox.first?.reply.createdAt ?? Infinity,
        ),
      }));
  }

  close(): void {
    this.#bell.silence();
  }

  #of(channel: ChannelKey): Side {
    let side = this.#sides.get(channel);
    if (side === undefined) {
      const rows = { inbox: new LinkedSet<InRow>(), outbox: new LinkedSet<OutRow>() };
      side = { in: new Queue(), out: new Queue(), ...rows };
      this.#sides.set(channel, side);
    }
    return side;
  }
}
