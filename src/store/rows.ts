/** The rows of the working set, and the lane that puts a conversation's rows in order. */
import type { ChannelKey } from '../domain/ids.ts';
import type { Message } from '../domain/message.ts';
import type { Reply } from '../domain/reply.ts';
import type { Deadline } from '../lib/deadlines.ts';
import { Queue } from '../lib/queue.ts';

/** One conversation on one channel: its unsettled rows in order. */
export class Lane {
  readonly channel: ChannelKey;
  readonly inbox = new Queue<InRow>();
  /** Without the parked ones: they have left the order. */
  readonly outbox = new Queue<OutRow>();
  /** The head has been offered or claimed; nothing behind it may start. */
  inBusy = false;
  outBusy = false;
  /** Unsettled replies, parked ones included. */
  replies = 0;
  /** It has no rows. */
  idle = true;

  constructor(channel: ChannelKey) {
    this.channel = channel;
  }

  get empty(): boolean {
    return this.inbox.length === 0 && this.replies === 0;
  }
}

/** A message and its replies, from acceptance until the last of them is settled. */
export class Settlement {
  open = 1;
  readonly bytes: number;
  /** Where the message's story is told on, in the form that keeps stories in memory. */
  story = 0;
  #promise: Promise<void> | null = null;
  #resolve: (() => void) | null = null;

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** Resolves when everything is settled; made only for those who ask. */
  get settled(): Promise<void> {
    if (this.open === 0) return Promise.resolve();
    this.#promise ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#promise;
  }

  close(): void {
    this.#resolve?.();
  }
}

export type InRow = {
  readonly box: 'in';
  readonly seq: number;
  readonly lane: Lane;
  readonly message: Message;
  readonly settlement: Settlement;
  /** The number of the try that comes next or is under way; counts from 1. */
  attempt: number;
};

export type OutRow = {
  readonly box: 'out';
  readonly seq: number;
  readonly lane: Lane;
  readonly reply: Reply;
  readonly bytes: number;
  readonly settlement: Settlement;
  attempt: number;
  /** Attempts made before the last replay: its schedule began anew after them. */
  replayedAfter: number;
  possibleDuplicate: boolean;
  /** It may arrive after what came later. */
  late: boolean;
  /** Late, and out of its lane: it holds up nothing. */
  parked: boolean;
  /** When it was last handed out; milliseconds since 1970. */
  takenAt: number;
  /** Set while it waits for its time. */
  due: Deadline | null;
};

export type Row = InRow | OutRow;

/** A part of a split reply has the whole one's id, and `-00`, `-01` … behind it. */
export const wholeIdLength = 22;

/** The parts that wait behind this part of a split reply: when it dies they die with it. */
export function laterParts({ reply, lane, parked }: OutRow): readonly OutRow[] {
  if (parked || reply.id.length === wholeIdLength) return [];
  const parts: OutRow[] = [];
  const whole = reply.id.slice(0, wholeIdLength);
  for (let place = 1; ; place++) {
    const part = lane.outbox.at(place);
    if (part === undefined || !part.reply.id.startsWith(whole)) return parts;
    parts.push(part);
  }
}
