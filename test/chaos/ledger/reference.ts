/**
 * The ledger as its contract tells it, in plain arrays that are searched from the front each time:
 * slow, and so plain that it can be read as the contract.
 */
import type { Box } from '../../../src/domain/event.ts';
import { noStarts, type TurnRow, type WindowStarts } from '../../../src/domain/conversation.ts';
import type { Inbound, Message } from '../../../src/domain/message.ts';
import type { Reply } from '../../../src/domain/reply.ts';
import type { DeadLetterMove, Effects, Memory } from '../../../src/ledger/ledger.ts';
import type { MessageRow, ReplyRow, Row } from './rows.ts';
import { isUnanswered, windowOf } from './turns.ts';

/** With so many unsettled replies a conversation's inbox is not claimed. */
const repliesMax = 100;
const wholeId = (id: string): string => id.slice(0, 22);

/** In place of an id that is not known yet: of a message of the same batch, or of one before. */
export const sameBatch = 'the same batch';
const underWay = 'under way';

/** What one conversation remembers. */
type Remembered = {
  session: number;
  startedAt: number;
  previousAt: number;
  turns: readonly Turn[];
  windows: WindowStarts;
  /** The sessions before, with their turns. */
  readonly past: (readonly Turn[])[];
  /** A turn was taken out of it: when the session began is not known. */
  unsure: boolean;
};
/** `of`: the message; null: a quoted block. `hidden`: it is left out from now on. */
type Turn = { readonly of: string | null; readonly row: TurnRow; readonly hidden?: true };
const isSeen = ({ hidden }: Turn): boolean => hidden === undefined;

export type Expected =
  | { readonly kind: 'refused'; readonly reason: 'full' | 'shutting_down' }
  | { readonly kind: 'accepted'; readonly firsts: readonly (First | null)[] };

/** What came first with a key, and whether the later one said something else. */
export type First = { readonly id: string; readonly isReuse: boolean };
type KnownKey = { readonly id: string; readonly until: number; readonly said: string | undefined };

type Form = Pick<Reference, 'durable' | 'quarantines' | 'messagesMax' | 'keyMs' | 'now'>;

export class Reference {
  readonly durable: boolean;
  /** Deaths count neither after a clean stop nor along a reply's schedule. */
  readonly quarantines: boolean;
  readonly messagesMax: number;
  /** How long a key is remembered, by channel. */
  readonly keyMs: (channel: string) => number;
  now: number;
  step = 0;
  inbox: MessageRow[] = [];
  outbox: ReplyRow[] = [];
  closed = false;
  readonly cursors = new Map<string, string>();
  dead: Row[] = [];
  /** Lanes that an operator answers by hand, and until when. */
  readonly held = new Map<string, number>();
  readonly isHeld = (lane: string): boolean => (this.held.get(lane) ?? 0) > this.now;
  /** Whole ids of what was buried in one go. */
  #burials: string[] = [];
  /** Messages and replies that are on the disk, settled ones too; `of`: the message answered. */
  #kept: { readonly id: string; readonly lane: string; readonly of: string | null }[] = [];
  readonly #keys = new Map<string, KnownKey>();
  readonly #remembered = new Map<string, Remembered>();

  constructor(form: Form) {
    this.durable = form.durable;
    this.quarantines = form.quarantines;
    this.messagesMax = form.messagesMax;
    this.keyMs = form.keyMs;
    this.now = form.now;
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

  /** What accepting this batch must answer, when `more` are on their way in before it. */
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
      const lane = `${channel} ${facts.conversation}`;
      const common = { id, channel, lane, roomOf: id, attempt: 1, claimed: false };
      this.inbox.push({ ...common, box: 'in', message, readySince: null, givenBack: false });
      this.#kept.push({ id, lane, of: null });
    }
  }

  /** Rows that may be claimed now. */
  claimable(box: Box, channel: string): readonly Row[] {
    const rows: readonly Row[] = box === 'in' ? this.inbox : this.outbox;
    return rows.filter((row) => row.channel === channel && this.#mayBeClaimed(row));
  }

  #mayBeClaimed(row: Row): boolean {
    if (row.claimed || (row.box === 'in' && this.isHeld(row.lane))) return false;
    if (row.box === 'in') {
      const first = this.inbox.find(({ lane }) => lane === row.lane);
      const replies = this.outbox.filter(({ lane }) => lane === row.lane).length;
      return first === row && replies < repliesMax;
    }
    if (row.dueAt !== null && row.dueAt > this.now) return false;
    return row.parked || this.#headOf(row.lane) === row;
  }

  #headOf(lane: string): ReplyRow | undefined {
    return this.outbox.find((row) => row.lane === lane && !row.parked);
  }

  /** What a claim of that row must remember. */
  memoryOf({ lane, message }: MessageRow): Memory {
    const known = this.durable ? this.#remembered.get(lane) : undefined;
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

  /** The message is done, or dead, and this is what it leaves. */
  finish(row: MessageRow, effects: Effects | null, dead: boolean): void {
    this.inbox = this.inbox.filter((one) => one !== row);
    if (dead) this.#bury([row]);
    for (const reply of effects?.replies ?? []) this.#send(reply, row.roomOf);
    const before = this.#remembered.get(row.lane);
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
    this.#remembered.set(row.lane, {
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
    const lane = `${channel} ${reply.conversation}`;
    const common = { id: reply.id, channel, lane, roomOf, attempt: 1, claimed: false };
    const marks = { possibleDuplicate: false, late: false, parked: false, dueAt: null };
    const row = { box: 'out', reply, readySince: null, givenBack: false } as const;
    this.outbox.push({ ...row, ...common, ...marks, replayedAfter: 0 });
    this.#kept.push({ id: reply.id, lane, of: reply.inReplyTo });
  }

  delivered(row: ReplyRow): void {
    this.outbox = this.outbox.filter((one) => one !== row);
  }

  /** A part that dies takes the later ones of its reply with it, as one dead letter. */
  buryReply(row: ReplyRow): void {
    const lane = this.outbox.filter((one) => one.lane === row.lane && !one.parked);
    const behind = lane.slice(lane.indexOf(row) + 1);
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

  /** A dead letter's rows, in their order. */
  #take(id: string): readonly Row[] {
    const rows = this.dead.filter((row) => wholeId(row.id) === id);
    this.dead = this.dead.filter((row) => !rows.includes(row));
    this.#burials = this.#burials.filter((one) => one !== id);
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** A dead letter again: a message as of now, a reply late and at the end of its lane. */
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

  /** It is said again: the turn that its burial left goes. */
  #unsay({ lane, id }: MessageRow): void {
    const known = this.#remembered.get(lane);
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

  /** Conversations that anything is known of. */
  lanesOf(is: (lane: string) => boolean): ReadonlySet<string> {
    const known = [...this.inbox, ...this.outbox, ...this.#kept].map(({ lane }) => lane);
    return new Set([...known, ...this.#remembered.keys()].filter(is));
  }

  /** Whether a message or a turn that is kept tells who talks there. */
  knowsSenderOf(lane: string): boolean {
    const { turns = [], past = [] } = this.#remembered.get(lane) ?? {};
    const said = this.#kept.some((row) => row.lane === lane && row.of === null);
    return said || [turns, ...past].flat().some(({ of }) => of !== null);
  }

  /** What answers a discarded message goes with its conversation only. @returns how many went */
  forget(lanes: ReadonlySet<string>, by: 'conversation' | 'sender'): number {
    const known = new Set(this.#kept.map(({ id }) => id));
    const stays = (row: { readonly lane: string; readonly of?: string | null }): boolean =>
      !lanes.has(row.lane) || (by === 'sender' && row.of != null && !known.has(row.of));
    const gone = [...this.inbox, ...this.outbox].filter((row) => !stays(row)).length;
    const kept = this.#kept.filter((row) => !stays(row)).length;
    let turns = 0;
    for (const lane of lanes) {
      const talk = this.#remembered.get(lane);
      for (const session of [talk?.turns ?? [], ...(talk?.past ?? [])]) turns += session.length;
      this.#remembered.delete(lane);
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
  recall({ lane }: MessageRow, n: number): readonly TurnRow[] | null {
    const known = this.#remembered.get(lane);
    if (known === undefined || !this.durable) return [];
    if (known.turns.some(isSeen)) return null;
    const said = known.past.map((turns) => turns.filter((one) => one.of !== null && isSeen(one)));
    const newest = said.findLast((turns) => turns.length > 0) ?? [];
    return newest.slice(-n).map(({ row }) => row);
  }

  /** Something of what is remembered cannot be known. */
  unsureOf({ lane }: MessageRow): boolean {
    return this.#remembered.get(lane)?.unsure ?? false;
  }

  /** The process stopped as it should, and another one begins. */
  restart(): void {
    if (this.quarantines) for (const row of this.inbox) row.attempt = 1;
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

  /** One more death would make suspects, which run alone: those are not for this walk. */
  get mayDie(): boolean {
    return !this.quarantines || this.inbox.every(({ attempt }) => attempt === 1);
  }

  /**
   * The process died: the head of each conversation may have been under way, its reply and every
   * parked one whose time had come may have been sent.
   */
  crash(): void {
    for (const row of this.inbox.filter(({ lane }) => !this.isHeld(lane))) {
      if (this.inbox.find(({ lane }) => lane === row.lane) === row) row.attempt++;
    }
    for (const row of this.outbox) {
      const due = row.dueAt === null || row.dueAt <= this.now;
      if (!due || !(row.parked || this.#headOf(row.lane) === row)) continue;
      row.attempt++;
      row.possibleDuplicate = true;
      if (this.quarantines) row.replayedAfter++;
    }
    this.#begin();
  }

  /** Notes since when each row may be claimed. */
  endStep(): void {
    for (const row of [...this.inbox, ...this.outbox]) {
      if (!this.#mayBeClaimed(row)) row.readySince = null;
      else row.readySince ??= this.step;
    }
    this.step++;
  }
}
