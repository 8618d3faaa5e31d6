/**
 * How lanes change hands, in a transaction of their own behind a flight: nothing here waits for a
 * lock, since what another instance holds just now is left for the next time.
 *
 * A lane is let go only where its number is the one that this instance knows. Where it is not,
 * another instance has accepted a message, or put a reply back, since: that is read first. Both
 * change the same row, so neither can miss the other.
 */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { Where } from '../../engine/memories.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import { fromText, toText } from '../server/text.ts';
import { lazyMs, type TrailingTransaction } from '../write/batches.ts';
import type { Asked, Rows } from '../write/statement.ts';
import type { Behind } from '../write/writer.ts';
import { leftIn, type OwnedQueue } from './owned-queue.ts';
import type { OwnedQueues } from './owned-queues.ts';
import type { QueueName } from './row-pages.ts';
import { free, queuesMax, own, owners, release } from './queue-statements.ts';
import { takeDue, takenBefore, takeWaiting, untried } from './queue-statements.ts';

/** After so many vain tries it is asked whose a lane is. */
const skipsMax = 20;
/**
 * A lane that is quiet waits so long for others, or until they are so many: then one transaction
 * frees all of them. What another instance accepts for it meanwhile waits as long.
 */
const restMs = 20;
const restingMany = 100;

/** What is looked for: which channels this instance works. */
export type Taking = {
  readonly channels: readonly ChannelKey[];
  /** It works all other channels as well, but for these; null: it does not. */
  readonly allBut: readonly ChannelKey[] | null;
  /** Of which of them it takes lanes with a suspect in front, too. */
  readonly suspectsOf: 'all' | readonly ChannelKey[];
  /** Milliseconds since 1970. */
  readonly now: number;
};

export type MovesDeps = {
  readonly instance: number;
  readonly queues: OwnedQueues;
  readonly rows: WorkingSet;
  /** Parked replies of a lane leave the working set with it. @returns whether there were any */
  readonly drop: (queue: OwnedQueue) => boolean;
  /** Something is to go. */
  readonly soon: () => void;
  readonly steady: () => SteadyTime;
};

type Move = { readonly asked: Asked; readonly read: (rows: Rows | null) => void };

export class Moves implements TrailingTransaction {
  readonly #deps: MovesDeps;
  readonly #takes: Move[] = [];
  #sent: readonly Move[] = [];
  #place: readonly [string, string] = ['', ''];
  #isOver = false;

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

  /** Lanes that are being taken or made free. */
  get pending(): number {
    return this.#takes.length + this.#sent.length;
  }

  take(isEarly = false): Behind {
    const takes = this.#takes.splice(0);
    const releases = takes.length > 0 || isEarly || this.#isDue ? this.#releases() : [];
    // The other way round they would take back what is let go.
    this.#sent = [...takes, ...releases];
    return { asked: this.#sent.map(({ asked }) => asked), takes: takes.length > 0 };
  }

  landed(answers: readonly Rows[] | null): void {
    const sent = this.#sent;
    this.#sent = [];
    for (const [at, { read }] of sent.entries()) read(answers?.[at] ?? null);
  }

  /** All is let go: what was to be taken is left to others. */
  close(): void {
    this.#isOver = true;
    for (const { read } of this.#takes.splice(0)) read(null);
  }

  end(): void {
    this.landed(null);
    this.close();
  }

  /**
   * Takes lanes in which rows wait, and then those with replies that are due.
   * @returns whether there may be more of the first; null: it is not known what was taken
   */
  takeWaiting({ channels, allBut, suspectsOf, now }: Taking): Promise<boolean | null> {
    const { instance } = this.#deps;
    const [channel, conversation] = this.#place;
    const which = [instance, channels, allBut !== null, allBut ?? []];
    const tries = suspectsOf === 'all' ? [true, []] : [false, suspectsOf];
    const values = [...which, channel, conversation, ...tries];
    const due = this.#ask({ text: takeDue, values: [...which, now] });
    const waiting = this.#ask({ text: takeWaiting, values });
    return Promise.all([due, waiting]).then(([replies, messages]) => {
      if (replies === null || messages === null) return null;
      for (const row of [...messages, ...replies]) this.#taken(row);
      const isFull = messages.length >= queuesMax;
      this.#place = isFull ? newestOf(messages) : ['', ''];
      return isFull || channel !== '';
    });
  }

  /** What was taken when the answer was lost. @returns false: it is still not known */
  async takeBefore(): Promise<boolean> {
    const { instance } = this.#deps;
    const found = await this.#ask({ text: takenBefore, values: [instance] });
    for (const row of found ?? []) this.#taken(row);
    return found !== null;
  }

  /** What of these is this instance's by the tables, and is not known here: a release was lost. */
  async takeOwn(named: readonly QueueName[]): Promise<void> {
    const values = [JSON.stringify(named.map(nameOf)), this.#deps.instance];
    for (const row of (await this.#ask({ text: own, values })) ?? []) this.#taken(row);
  }

  /**
   * Makes lanes free whose owner is no more.
   * @returns false: not all are known to be; one may have been locked just then
   */
  async free(queues: readonly QueueName[], now: number): Promise<boolean> {
    const values = [JSON.stringify(queues.map(nameOf)), now];
    const freed = await this.#ask({ text: free, values });
    return freed?.length === queues.length;
  }

  #taken({ channel, conversation, epoch, tail }: Rows[number]): void {
    const where = whereOf({ channel: String(channel), conversation: String(conversation) });
    this.#deps.queues.take(where, Number(epoch), Number(tail));
  }

  /** Resolves to null where it is not known whether it has landed. */
  #ask(asked: Asked): Promise<Rows | null> {
    if (this.#isOver) return Promise.resolve(null);
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
    const going = [...queues.resting.keys()].slice(0, queuesMax).filter((queue) => {
      const goes = queues.mayGo(queue);
      if (!goes) queues.restsNoMore(queue);
      return goes;
    });
    if (going.length === 0) return [];
    const given = going.filter((queue) => leftIn(queue, this.#deps.rows) === 2);
    const stuck = going.filter(({ skips }) => skips >= skipsMax);
    return [
      ...(given.length === 0 ? [] : [{ asked: this.#named(untried, given), read: () => {} }]),
      this.#release(going),
      ...(stuck.length === 0 ? [] : [this.#whose(stuck)]),
    ];
  }

  #release(going: readonly OwnedQueue[]): Move {
    const { instance, queues, drop } = this.#deps;
    const rows = going.map((queue) => {
      const { channel, conversation, epoch, tail } = queue;
      const waits = leftIn(queue, this.#deps.rows);
      if (!queues.isClosing) queue.hasParked = drop(queue) || queue.hasParked;
      const given = waits === 2;
      return { channel, conversation: toText(conversation), epoch, tail, waits, given };
    });
    const asked = { text: release, values: [JSON.stringify(rows), instance] };
    return { asked, read: (found) => this.#released(going, found) };
  }

  #released(going: readonly OwnedQueue[], found: Rows | null): void {
    const { queues } = this.#deps;
    const byName = new Map(
      (found ?? []).map((row) => [`${String(row['channel'])} ${String(row['conversation'])}`, row]),
    );
    for (const queue of going) {
      const row = byName.get(`${queue.channel} ${toText(queue.conversation)}`);
      if (row === undefined) queue.skips++;
      else if (row['goes'] === true) queues.gone(queue);
      else queues.stays(queue, Number(row['tail']));
    }
  }

  /** Of lanes that cannot be let go again and again: another's, taken again, or forgotten. */
  #whose(stuck: readonly OwnedQueue[]): Move {
    const { queues, instance } = this.#deps;
    const read = (found: Rows | null): void => {
      for (const { channel, conversation, owner, epoch } of found ?? []) {
        const name = `${String(channel)} ${String(conversation)}`;
        const queue = stuck.find((one) => `${one.channel} ${toText(one.conversation)}` === name);
        if (queue === undefined || (owner === instance && epoch === queue.epoch)) continue;
        queues.gone(queue);
      }
    };
    return { asked: this.#named(owners, stuck), read };
  }

  #named(text: string, queues: readonly OwnedQueue[]): Asked {
    const names = queues.map(({ channel, conversation }) => {
      return { channel, conversation: toText(conversation) };
    });
    return { text, values: [JSON.stringify(names)] };
  }
}

/** The conversation that the tables name so. */
export function whereOf({ channel, conversation }: QueueName): Where {
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

/** By their bytes, as the server compares them. */
function isBehind(one: readonly [string, string], other: readonly [string, string]): boolean {
  const [a, b] = [one, other].map((name) => Buffer.from(name.join('\0')));
  return Buffer.compare(a!, b!) > 0;
}
