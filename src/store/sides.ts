/** What can be taken now from the boxes of each channel, and how many unsettled rows it has. */
import type { Box } from '../domain/event.ts';
import type { ChannelKey } from '../domain/ids.ts';
import { Queue } from '../lib/queue.ts';
import { Bell } from './bell.ts';
import type { InRow, OutRow, Row } from './rows.ts';
import type { ChannelBacklog } from './store.ts';

type Side = {
  readonly in: Queue<InRow>;
  readonly out: Queue<OutRow>;
  inbox: number;
  outbox: number;
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

  /** @param by how many unsettled rows there are more */
  count(box: Box, channel: ChannelKey, by: number): void {
    const side = this.#of(channel);
    if (box === 'in') side.inbox += by;
    else side.outbox += by;
  }

  /** Unsettled rows of every channel, those without a pump included. */
  unsettled(box: Box): number {
    let rows = 0;
    for (const side of this.#sides.values()) rows += box === 'in' ? side.inbox : side.outbox;
    return rows;
  }

  backlog(): readonly Omit<ChannelBacklog, 'unroutableSince'>[] {
    return [...this.#sides]
      .filter(([, { inbox, outbox }]) => inbox + outbox > 0)
      .map(([channel, { inbox, outbox }]) => ({ channel, inbox, outbox }));
  }

  close(): void {
    this.#bell.silence();
  }

  #of(channel: ChannelKey): Side {
    let side = this.#sides.get(channel);
    if (side === undefined) {
      side = { in: new Queue(), out: new Queue(), inbox: 0, outbox: 0 };
      this.#sides.set(channel, side);
    }
    return side;
  }
}
