/**
 * How queues change hands. The statements go in a trailing transaction behind a write batch. None
 * waits for a lock: a queue that another instance has locked is left for the next time.
 *
 * An instance releases a queue only where the queue's newest number is the one that it knows.
 * Otherwise another instance has accepted a message or put a reply back, and this instance reads
 * that first. Both change the same row, so neither can miss the other.
 */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { ConversationKey } from '../../../domain/story.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import { fromText, toText } from '../server/text.ts';
import { lazyMs, type TrailingTransaction } from '../write/batches.ts';
import type { Query, Rows } from '../write/statement.ts';
import type { TrailingStatements } from '../write/writer.ts';
import { waitsOnRelease, type OwnedQueue } from './owned-queue.ts';
import type { OwnedQueues } from './owned-queues.ts';
import type { QueueName } from './row-pages.ts';
import {
  freeQueues,
  queuesMax,
  ownQueues,
  owners,
  release,
  takeDue,
  takenBefore,
  takeWaiting,
  clearAttempts,
} from './queue-statements.ts';

/** After this many failed releases this asks for the owner of the queue. */
const failedReleasesMax = 20;
/**
 * How long a quiet queue waits for others before it is released, unless `restingMany` wait: one
 * transaction then releases all of them. A message that another instance accepts for it meanwhile
 * waits as long.
 */
const restMs = 20;
const restingMany = 100;

/** The channels whose queues this instance takes. */
export type TakeFilter = {
  readonly channels: readonly ChannelKey[];
  /** It also takes the queues of all other channels except these; null: it does not. */
  readonly allBut: readonly ChannelKey[] | null;
  /** Channels whose queues it takes even with a suspected message in front. */
  readonly suspectsOf: 'all' | readonly ChannelKey[];
  /** Milliseconds since 1970. */
  readonly now: number;
};

export type MovesDeps = {
  readonly instance: number;
  readonly queues: OwnedQueues;
  readonly rows: WorkingSet;
  /** Removes the parked replies of a queue from the working set. @returns whether there were any */
  readonly drop: (queue: OwnedQueue) => boolean;
  /** Called when statements are ready to go. */
  readonly soon: () => void;
  readonly steady: () => SteadyTime;
};

type Move = { readonly asked: Query; readonly read: (rows: Rows | null) => void };

export class Moves implements TrailingTransaction {
  readonly #deps: MovesDeps;
  readonly #takes: Move[] = [];
  #sent: readonly Move[] = [];
  #place: readonly [string, string] = ['', ''];
  #isClosed = false;

  constructor(deps: MovesDeps) {
    this.#deps = deps;
  }

  get withinMs(): number | null {
    if (this.#takes.length > 0) return lazyMs;
    const { queues, steady } = this.#deps;
    const [first] = queues.resting.values();
    if (first === undefined) return null;
    return this.#isDue ? lazyMs : Math.max(lazyMs, first + restMs - steady());
  }

  /** Queues that are being taken or freed. */
  get pending(): number {
    return this.#takes.length + this.#sent.length;
  }

  take(isEarly = false): TrailingStatements {
    const takes = this.#takes.splice(0);
    const releases = takes.length > 0 || isEarly || this.#isDue ? this.#releases() : [];
    // Takes go first: behind the releases they would take back the queues just released.
    this.#sent = [...takes, ...releases];
    return { asked: this.#sent.map(({ asked }) => asked), takes: takes.length > 0 };
  }

  landed(answers: readonly Rows[] | null): void {
    const sent = this.#sent;
    this.#sent = [];
    for (const [at, { read }] of sent.entries()) read(answers?.[at] ?? null);
  }

  /** Everything is released; queues that were to be taken are left to other instances. */
  close(): void {
    this.#isClosed = true;
    for (const { read } of this.#takes.splice(0)) read(null);
  }

  end(): void {
    this.landed(null);
    this.close();
  }

  /**
   * Takes queues in which rows wait, and queues with replies that are due.
   * @returns whether more of the waiting ones may be left; null: it is not known which were taken
   */
  takeWaiting({ channels, allBut, suspectsOf, now }: TakeFilter): Promise<boolean | null> {
    const { instance } = this.#deps;
    const [channel, conversation] = this.#place;
    const which = [instance, channels, allBut !== null, allBut ?? []];
    const tries = suspectsOf === 'all' ? [true, []] : [false, suspectsOf];
    const values = [...which, channel, conversation, ...tries];
    const due = this.#enqueue({ text: takeDue, values: [...which, now] });
    const waiting = this.#enqueue({ text: takeWaiting, values });
    return Promise.all([due, waiting]).then(([replies, messages]) => {
      if (replies === null || messages === null) return null;
      for (const row of [...messages, ...replies]) this.#onTaken(row);
      const isFull = messages.length >= queuesMax;
      this.#place = isFull ? newestOf(messages) : ['', ''];
      return isFull || channel !== '';
    });
  }

  /** Finds queues that were taken when the answer was lost. @returns false: still unknown */
  async findEarlierTakes(): Promise<boolean> {
    const { instance } = this.#deps;
    const taken = await this.#enqueue({ text: takenBefore, values: [instance] });
    for (const row of taken ?? []) this.#onTaken(row);
    return taken !== null;
  }

  /**
   * Finds those of these queues that the database gives to this instance, and that it does not
   * know: a release was lost.
   */
  async takeOwn(named: readonly QueueName[]): Promise<void> {
    const values = [JSON.stringify(named.map(nameOf)), this.#deps.instance];
    for (const row of (await this.#enqueue({ text: ownQueues, values })) ?? []) this.#onTaken(row);
  }

  /**
   * Frees queues whose owner is dead.
   * @returns false: some may not be free; one may have been locked
   */
  async free(queues: readonly QueueName[], now: number): Promise<boolean> {
    const values = [JSON.stringify(queues.map(nameOf)), now];
    const freed = await this.#enqueue({ text: freeQueues, values });
    return freed?.length === queues.length;
  }

  #onTaken({ channel, conversation, epoch, tail }: Rows[number]): void {
    const where = whereOf({ channel: String(channel), conversation: String(conversation) });
    this.#deps.queues.take(where, Number(epoch), Number(tail));
  }

  /** Resolves to null where it is not known whether the statement has landed. */
  #enqueue(asked: Query): Promise<Rows | null> {
    if (this.#isClosed) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#takes.push({ asked, read: resolve });
      this.#deps.soon();
    });
  }

  get #isDue(): boolean {
    const { queues, steady } = this.#deps;
    if (queues.isClosing || queues.resting.size >= restingMany) return true;
    const before = steady() - restMs;
    for (const [{ isLeaving }, since] of queues.resting)
      if (isLeaving || since <= before) return true;
    return false;
  }

  #releases(): readonly Move[] {
    const { queues } = this.#deps;
    const leaving = [...queues.resting.keys()].slice(0, queuesMax).filter((queue) => {
      const mayGo = queues.mayRelease(queue);
      if (!mayGo) queues.stopResting(queue);
      return mayGo;
    });
    if (leaving.length === 0) return [];
    const givenBack = leaving.filter((queue) => waitsOnRelease(queue, this.#deps.rows) === 2);
    const stuck = leaving.filter(({ failedReleases }) => failedReleases >= failedReleasesMax);
    return [
      ...(givenBack.length === 0
        ? []
        : [{ asked: this.#forQueues(clearAttempts, givenBack), read: () => {} }]),
      this.#release(leaving),
      ...(stuck.length === 0 ? [] : [this.#askOwners(stuck)]),
    ];
  }

  #release(leaving: readonly OwnedQueue[]): Move {
    const { instance, queues, drop } = this.#deps;
    const rows = leaving.map((queue) => {
      const { channel, conversation, epoch, tail } = queue;
      const waits = waitsOnRelease(queue, this.#deps.rows);
      if (!queues.isClosing) queue.hasParked = drop(queue) || queue.hasParked;
      const given = waits === 2;
      return { channel, conversation: toText(conversation), epoch, tail, waits, given };
    });
    const asked = { text: release, values: [JSON.stringify(rows), instance] };
    return { asked, read: (found) => this.#onReleased(leaving, found) };
  }

  #onReleased(leaving: readonly OwnedQueue[], found: Rows | null): void {
    const { queues } = this.#deps;
    const byName = new Map(
      (found ?? []).map((row) => [`${String(row['channel'])} ${String(row['conversation'])}`, row]),
    );
    for (const queue of leaving) {
      const row = byName.get(`${queue.channel} ${toText(queue.conversation)}`);
      if (row === undefined) queue.failedReleases++;
      else if (row['goes'] === true) queues.remove(queue);
      else queues.releaseFailed(queue, Number(row['tail']));
    }
  }

  /**
   * Asks for the owners of queues whose release failed again and again. Such a queue belongs to
   * another instance, was taken again, or was deleted.
   */
  #askOwners(stuck: readonly OwnedQueue[]): Move {
    const { queues, instance } = this.#deps;
    const read = (found: Rows | null): void => {
      for (const { channel, conversation, owner, epoch } of found ?? []) {
        const name = `${String(channel)} ${String(conversation)}`;
        const queue = stuck.find((one) => `${one.channel} ${toText(one.conversation)}` === name);
        if (queue === undefined || (owner === instance && epoch === queue.epoch)) continue;
        queues.remove(queue);
      }
    };
    return { asked: this.#forQueues(owners, stuck), read };
  }

  #forQueues(text: string, queues: readonly OwnedQueue[]): Query {
    const names = queues.map(({ channel, conversation }) => {
      return { channel, conversation: toText(conversation) };
    });
    return { text, values: [JSON.stringify(names)] };
  }
}

/** The conversation with this name in the tables. */
export function whereOf({ channel, conversation }: QueueName): ConversationKey {
  return {
    channel: channel as ChannelKey,
    conversation: fromText(conversation) as ConversationId,
  };
}

function nameOf({ channel, conversation }: QueueName): QueueName {
  return { channel, conversation };
}

function newestOf(rows: Rows): readonly [string, string] {
  const names = rows.map((row) => [String(row['channel']), String(row['conversation'])] as const);
  return names.reduce((newest, one) => (isBehind(one, newest) ? one : newest));
}

/** Compares bytes, as the server does. */
function isBehind(one: readonly [string, string], other: readonly [string, string]): boolean {
  const [a, b] = [one, other].map((name) => Buffer.from(name.join('\0')));
  return Buffer.compare(a!, b!) > 0;
}
