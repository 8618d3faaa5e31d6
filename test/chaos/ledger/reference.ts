/**
 * The ledger by its contract, in plain arrays that are searched from the front each time: slow, but
 * as easy to read as the contract.
 */
import type { Box } from '../../../src/domain/event.ts';
import { noStarts, type TurnRow, type WindowStarts } from '../../../src/domain/conversation.ts';
import type { Inbound, Message } from '../../../src/domain/message.ts';
import type { Reply } from '../../../src/domain/reply.ts';
import type { DeadLetterMove, Effects, Memory } from '../../../src/ledger/ledger.ts';
import type { MessageRow, ReplyRow, Row } from './rows.ts';
import { isUnanswered, windowOf } from './turns.ts';

/** With this many unsettled replies a conversation's inbox cannot be claimed. */
const repliesMax = 100;
const wholeId = (id: string): string => id.slice(0, 22);

/** Stands for an unknown id: that of a message of the same batch, or of one under way. */
export const sameBatch = 'the same batch';
const underWay = 'under way';

/** The memory of one conversation. */
type Remembered = {
  session: number;
  startedAt: number;
  previousAt: number;
  turns: readonly Turn[];
  windows: WindowStarts;
  /** The earlier sessions, with their turns. */
  readonly past: (readonly Turn[])[];
  /** A turn was removed, so the start of the session is unknown. */
  unsure: boolean;
};
/** `of`: the message; null: a quoted block. `hidden`: later turns do not show it. */
type Turn = { readonly of: string | null; readonly row: TurnRow; readonly hidden?: true };
const isSeen = ({ hidden }: Turn): boolean => hidden === undefined;

export type Expected =
  | { readonly kind: 'refused'; readonly reason: 'full' | 'shutting_down' }
  | { readonly kind: 'accepted'; readonly firsts: readonly (First | null)[] };

/** The first message with a key, and whether the later one had another text. */
export type First = { readonly id: string; readonly isReuse: boolean };
type KnownKey = { readonly id: string; readonly until: number; readonly said: string | undefined };

type Backend = Pick<Reference, 'durable' | 'crashIsolations' | 'messagesMax' | 'keyMs' | 'now'>;

export class Reference {
  readonly durable: boolean;
  /** Deaths count neither after a clean stop nor along a reply's schedule. */
  readonly crashIsolations: boolean;
  readonly messagesMax: number;
  /** The life of a key, by channel. */
  readonly keyMs: (channel: string) => number;
  now: number;
  step = 0;
  inbox: MessageRow[] = [];
  outbox: ReplyRow[] = [];
  closed = false;
  readonly cursors = new Map<string, string>();
  dead: Row[] = [];
  /** Queues under takeover, and the end of each takeover. */
  readonly held = new Map<string, number>();
  readonly isHeld = (queue: string): boolean => (this.held.get(queue) ?? 0) > this.now;
  /** Whole ids of dead letters, one for each burial. */
  #burials: string[] = [];
  /** Messages and replies on the disk, settled ones too; `of`: the answered message. */
  #kept: { readonly id: string; readonly queue: string; readonly of: string | null }[] = [];
  readonly #keys = new Map<string, KnownKey>();
  readonly #remembered = new Map<string, Remembered>();

  constructor(backend: Backend) {
    this.durable = backend.durable;
    this.crashIsolations = backend.crashIsolations;
    this.messagesMax = backend.messagesMax;
    this.keyMs = backend.keyMs;
    this.now = backend.now;
  }

  /** Ids of messages that are not settled, or have a reply that is not. */
  get unsettledMessages(): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const { id } of this.inbox) ids.add(id);
    for (const { reply } of this.outbox) ids.add(reply.inReplyTo);
    return ids;
  }

  get room(): number {
    const taken = new Set<string>();
    for (const { roomOf } of this.inbox) taken.add(roomOf);
    for (const { roomOf } of this.outbox) taken.add(roomOf);
    return Math.max(0, this.messagesMax - taken.size);
  }

  get deadLettersFrom(): number {
    return new Set(this.#burials).size;
  }

  get deadLettersTo(): number {
    return this.#burials.length;
  }

  /** The expected answer to this batch, when `more` messages before it are still under way. */
  expectAccept(batch: readonly Inbound[], more: number): Expected {
    if (this.closed) return { kind: 'refused', reason: 'shutting_down' };
    if (batch.length > this.room - more) return { kind: 'refused', reason: 'full' };
    const fresh = new Set<string>();
    const firsts = batch.map(({ channel, dedupeKey, keyCheck }): First | null => {
      if (dedupeKey === null) return null;
      const key = `${channel} ${dedupeKey}`;
      const said = keyCheck?.fingerprint;
      const known = this.#keys.get(key);
      if (known !== undefined && known.until > this.now) {
        const isReuse = said !== undefined && known.said !== undefined && said !== known.said;
        return { id: fresh.has(key) ? sameBatch : known.id, isReuse };
      }
      fresh.add(key);
      this.#keys.set(key, { id: underWay, until: this.now + this.keyMs(channel), said });
      return null;
    });
    return { kind: 'accepted', firsts };
  }

  /** The batch was accepted under these ids. */
  accept(batch: readonly Inbound[], ids: readonly string[]): void {
    for (const [place, { dedupeKey, keyCheck: _, ...facts }] of batch.entries()) {
      const id = ids[place]!;
      const { channel } = facts;
      if (dedupeKey !== null) {
        const key = `${channel} ${dedupeKey}`;
        const known = this.#keys.get(key);
        if (known !== undefined && known.id !== underWay) continue;
        const said = known?.said;
        this.#keys.set(key, { id, until: this.now + this.keyMs(channel), said });
      }
      const message = { ...facts, id, acceptedAt: this.now } as Message;
      const queue = `${channel} ${facts.conversation}`;
      const common = { id, channel, queue, roomOf: id, attempt: 1, claimed: false };
      this.inbox.push({ ...common, box: 'in', message, readySince: null, givenBack: false });
      this.#kept.push({ id, queue, of: null });
    }
  }

  /** The rows that may be claimed now. */
  claimable(box: Box, channel: string): readonly Row[] {
    const rows: readonly Row[] = box === 'in' ? this.inbox : this.outbox;
    return rows.filter((row) => row.channel === channel && this.#mayBeClaimed(row));
  }

  #mayBeClaimed(row: Row): boolean {
    if (row.claimed || (row.box === 'in' && this.isHeld(row.queue))) return false;
    if (row.box === 'in') {
      const first = this.inbox.find(({ queue }) => queue === row.queue);
      const replies = this.outbox.filter(({ queue }) => queue === row.queue).length;
      return first === row && replies < repliesMax;
    }
    if (row.dueAt !== null && row.dueAt > this.now) return false;
    return row.parked || this.#headOf(row.queue) === row;
  }

  #headOf(queue: string): ReplyRow | undefined {
    return this.outbox.find((row) => row.queue === queue && !row.parked);
  }

  /** The expected memory of a claim of that row. */
  memoryOf({ queue, message }: MessageRow): Memory {
    const known = this.durable ? this.#remembered.get(queue) : undefined;
    if (known === undefined) {
      const session = { number: 1, startedAt: message.acceptedAt };
      return { session, turns: [], windows: noStarts, previousAt: null, empty: true };
    }
    const seen = known.turns.filter(isSeen);
    return {
      session: { number: known.session, startedAt: known.startedAt },
      turns: windowOf(seen.map(({ row }) => row)),
      windows: known.windows,
      previousAt: known.previousAt,
      empty: seen.length === 0,
    };
  }

  /** The message is done or dead; applies the effects of its turn. */
  finish(row: MessageRow, effects: Effects | null, dead: boolean): void {
    this.inbox = this.inbox.filter((one) => one !== row);
    if (dead) this.#bury([row]);
    for (const reply of effects?.replies ?? []) this.#send(reply, row.roomOf);
    const before = this.#remembered.get(row.queue);
    const { acceptedAt } = row.message;
    const move = effects?.session ?? null;
    const imported = effects?.imported ?? null;
    const turn = effects?.turn ?? null;
    const leftOut = new Set(effects?.leftOut.map(({ at }) => at));
    const turns: Turn[] =
      move === null
        ? (before?.turns ?? []).map((one) => {
            return leftOut.has(one.row.at) && isUnanswered(one.row)
              ? { ...one, hidden: true }
              : one;
          })
        : [];
    if (imported !== null) {
      turns.push({ of: null, row: { at: acceptedAt, ...imported, reply: null, quoted: true } });
    }
    if (turn !== null) turns.push({ of: row.id, row: turn });
    const past = before?.past ?? [];
    const windows = new Map(move === null ? (before?.windows ?? []) : []);
    if (move === null && effects?.window !== undefined) {
      windows.set(effects.window.brain, effects.window.start);
    }
    this.#remembered.set(row.queue, {
      session: (before?.session ?? 1) + (move === null ? 0 : 1),
      startedAt: move?.at ?? before?.startedAt ?? acceptedAt,
      previousAt: Math.max(before?.previousAt ?? acceptedAt, acceptedAt),
      turns,
      windows,
      past: move === null ? past : [...past, before?.turns ?? []],
      unsure: move === null && (before?.unsure ?? false),
    });
  }

  #send(reply: Reply, roomOf: string): void {
    const { channel } = reply.address;
    const queue = `${channel} ${reply.conversation}`;
    const common = { id: reply.id, channel, queue, roomOf, attempt: 1, claimed: false };
    const marks = { possibleDuplicate: false, late: false, parked: false, dueAt: null };
    const row = { box: 'out', reply, readySince: null, givenBack: false } as const;
    this.outbox.push({ ...row, ...common, ...marks, replayedAfter: 0 });
    this.#kept.push({ id: reply.id, queue, of: reply.inReplyTo });
  }

  delivered(row: ReplyRow): void {
    this.outbox = this.outbox.filter((one) => one !== row);
  }

  /** A part that dies takes the later ones of its reply with it, as one dead letter. */
  buryReply(row: ReplyRow): void {
    const queue = this.outbox.filter((one) => one.queue === row.queue && !one.parked);
    const behind = queue.slice(queue.indexOf(row) + 1);
    const other = behind.findIndex(({ id }) => wholeId(id) !== wholeId(row.id));
    const parts = row.parked ? [] : behind.slice(0, other < 0 ? behind.length : other);
    this.outbox = this.outbox.filter((one) => one !== row && !parts.includes(one));
    row.attempt++;
    this.#bury([row, ...parts]);
  }

  #bury(rows: readonly Row[]): void {
    this.#burials.push(wholeId(rows[0]!.id));
    this.dead.push(...rows);
  }

  defer(row: ReplyRow, at: number, park: boolean, possibleDuplicate: boolean): void {
    row.claimed = false;
    row.attempt++;
    row.dueAt = at;
    row.parked ||= park;
    row.late ||= row.parked;
    row.possibleDuplicate = possibleDuplicate;
    row.givenBack = false;
  }

  release(row: Row): void {
    row.claimed = false;
    row.givenBack = true;
  }

  /** Removes and returns a dead letter's rows, in their order. */
  #take(id: string): readonly Row[] {
    const rows = this.dead.filter((row) => wholeId(row.id) === id);
    this.dead = this.dead.filter((row) => !rows.includes(row));
    this.#burials = this.#burials.filter((one) => one !== id);
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Replays a dead letter: a message as of now, a reply late and at the end of its queue. */
  replay(id: string): DeadLetterMove {
    const rows = this.#take(id);
    for (const row of rows) {
      const roomOf = `${id} since step ${this.step}`;
      const again = { ...row, roomOf, claimed: false, readySince: null, givenBack: false };
      if (again.box === 'in') {
        const message = { ...again.message, acceptedAt: this.now };
        this.inbox.push({ ...again, message, attempt: 1 });
        this.#unsay(again);
      } else {
        const replayedAfter = again.attempt - 1;
        this.outbox.push({ ...again, replayedAfter, late: true, parked: false, dueAt: null });
      }
    }
    return rows.length === 0 ? 'not_found' : 'done';
  }

  /** Removes the turn that the burial left, since the message runs again. */
  #unsay({ queue, id }: MessageRow): void {
    const known = this.#remembered.get(queue);
    if (known === undefined) return;
    const without = (turns: readonly Turn[]): readonly Turn[] =>
      turns.filter(({ of }) => of !== id);
    known.unsure = true;
    known.turns = without(known.turns);
    for (const [i, turns] of known.past.entries()) known.past[i] = without(turns);
  }

  discard(id: string): DeadLetterMove {
    const rows = this.#take(id);
    this.#kept = this.#kept.filter((one) => !rows.some((row) => row.id === one.id));
    return rows.length === 0 ? 'not_found' : 'done';
  }

  /** The conversations of any stored row or memory. */
  queuesOf(is: (queue: string) => boolean): ReadonlySet<string> {
    const known = [...this.inbox, ...this.outbox, ...this.#kept].map(({ queue }) => queue);
    return new Set([...known, ...this.#remembered.keys()].filter(is));
  }

  /** Whether a stored message or turn shows who talks there. */
  knowsSenderOf(queue: string): boolean {
    const { turns = [], past = [] } = this.#remembered.get(queue) ?? {};
    const said = this.#kept.some((row) => row.queue === queue && row.of === null);
    return said || [turns, ...past].flat().some(({ of }) => of !== null);
  }

  /** The answer to a discarded message goes with its conversation only. @returns rows removed */
  forget(queues: ReadonlySet<string>, by: 'conversation' | 'sender'): number {
    const known = new Set(this.#kept.map(({ id }) => id));
    const stays = (row: { readonly queue: string; readonly of?: string | null }): boolean =>
      !queues.has(row.queue) || (by === 'sender' && row.of != null && !known.has(row.of));
    const gone = [...this.inbox, ...this.outbox].filter((row) => !stays(row)).length;
    const kept = this.#kept.filter((row) => !stays(row)).length;
    let turns = 0;
    for (const queue of queues) {
      const talk = this.#remembered.get(queue);
      for (const session of [talk?.turns ?? [], ...(talk?.past ?? [])]) turns += session.length;
      this.#remembered.delete(queue);
    }
    const dead = new Set(this.dead.filter((row) => !stays(row)).map(({ id }) => wholeId(id)));
    if (this.durable) {
      this.#burials = this.#burials.filter((id) => !dead.has(id));
      this.dead = this.dead.filter(stays);
    }
    this.inbox = this.inbox.filter(stays);
    this.outbox = this.outbox.filter(stays);
    this.#kept = this.#kept.filter(stays);
    return this.durable ? kept + turns : gone;
  }

  /** The last n turns of the newest session that has any; null where the active one has. */
  recall({ queue }: MessageRow, n: number): readonly TurnRow[] | null {
    const known = this.#remembered.get(queue);
    if (known === undefined || !this.durable) return [];
    if (known.turns.some(isSeen)) return null;
    const said = known.past.map((turns) => turns.filter((one) => one.of !== null && isSeen(one)));
    const newest = said.findLast((turns) => turns.length > 0) ?? [];
    return newest.slice(-n).map(({ row }) => row);
  }

  /** Whether some of the queue's memory is unknown. */
  unsureOf({ queue }: MessageRow): boolean {
    return this.#remembered.get(queue)?.unsure ?? false;
  }

  /** The process stopped cleanly, and another one begins. */
  restart(): void {
    if (this.crashIsolations) for (const row of this.inbox) row.attempt = 1;
    this.#begin();
  }

  #begin(): void {
    for (const row of [...this.inbox, ...this.outbox]) {
      row.claimed = false;
      row.readySince = null;
      row.givenBack = false;
      row.roomOf = row.box === 'in' ? row.id : row.reply.inReplyTo;
    }
    this.closed = false;
  }

  /** One more death would make suspected messages, which run alone: this walk leaves these out. */
  get mayDie(): boolean {
    return !this.crashIsolations || this.inbox.every(({ attempt }) => attempt === 1);
  }

  /**
   * The process died. The head of each conversation may have been under way; its reply, and every
   * parked one that was due, may have been sent.
   */
  crash(): void {
    for (const row of this.inbox.filter(({ queue }) => !this.isHeld(queue))) {
      if (this.inbox.find(({ queue }) => queue === row.queue) === row) row.attempt++;
    }
    for (const row of this.outbox) {
      const due = row.dueAt === null || row.dueAt <= this.now;
      if (!due || !(row.parked || this.#headOf(row.queue) === row)) continue;
      row.attempt++;
      row.possibleDuplicate = true;
      if (this.crashIsolations) row.replayedAfter++;
    }
    this.#begin();
  }

  /** Records since when each row may be claimed. */
  endStep(): void {
    for (const row of [...this.inbox, ...this.outbox]) {
      if (!this.#mayBeClaimed(row)) row.readySince = null;
      else row.readySince ??= this.step;
    }
    this.step++;
  }
}
