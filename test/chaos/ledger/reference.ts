/**
 * The ledger as its contract tells it, in plain arrays that are searched from the front each time:
 * slow, and so plain that it can be read as the contract.
 */
import type { Box } from '../../../src/domain/event.ts';
import type { TurnRow } from '../../../src/domain/conversation.ts';
import type { Inbound, Message } from '../../../src/domain/message.ts';
import type { Reply } from '../../../src/domain/reply.ts';
import type { Effects, Memory } from '../../../src/store/store.ts';

/** With so many unsettled replies a conversation's inbox is not claimed. */
const repliesMax = 100;
const windowTurns = 20;
const windowCharacters = 16_000;
const wholeId = (id: string): string => id.slice(0, 22);

/** In place of an id that is not known yet: of a message of the same batch, or of one before. */
export const sameBatch = 'the same batch';
const underWay = 'under way';

type Common = {
  readonly id: string;
  readonly channel: string;
  readonly lane: string;
  attempt: number;
  claimed: boolean;
  /** The step since which it may be claimed; null: it may not. */
  readySince: number | null;
  /** It was given back: first in its lane again, and in no order with other lanes. */
  givenBack: boolean;
};
export type MessageRow = Common & { readonly box: 'in'; readonly message: Message };
export type ReplyRow = Common & {
  readonly box: 'out';
  readonly reply: Reply;
  possibleDuplicate: boolean;
  /** Attempts that were only counted because the process died: its schedule has none of them. */
  died: number;
  late: boolean;
  /** When it is tried again; null: it waits for no time. */
  dueAt: number | null;
};
export type Row = MessageRow | ReplyRow;

/** What one conversation remembers. */
type Remembered = {
  session: number;
  startedAt: number;
  previousAt: number;
  turns: readonly TurnRow[];
};

export type Expected =
  | { readonly kind: 'refused'; readonly reason: 'full' | 'shutting_down' }
  | { readonly kind: 'accepted'; readonly duplicateOf: readonly (string | null)[] };

export class Reference {
  readonly durable: boolean;
  readonly messagesMax: number;
  /** How long a key is remembered, by channel. */
  readonly keyMs: (channel: string) => number;
  now: number;
  step = 0;
  inbox: MessageRow[] = [];
  outbox: ReplyRow[] = [];
  closed = false;
  readonly cursors = new Map<string, string>();
  /** What was buried in one go is one dead letter; whole ids. */
  readonly #dead: string[] = [];
  readonly #keys = new Map<string, { readonly id: string; readonly until: number }>();
  readonly #remembered = new Map<string, Remembered>();

  constructor(form: {
    readonly durable: boolean;
    readonly messagesMax: number;
    readonly keyMs: (channel: string) => number;
    readonly now: number;
  }) {
    this.durable = form.durable;
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
    return Math.max(0, this.messagesMax - this.unsettledMessages.size);
  }

  get deadLettersFrom(): number {
    return new Set(this.#dead).size;
  }

  get deadLettersTo(): number {
    return this.#dead.length;
  }

  /** What accepting this batch must answer, when `more` are on their way in before it. */
  expectAccept(batch: readonly Inbound[], more: number): Expected {
    if (this.closed) return { kind: 'refused', reason: 'shutting_down' };
    if (batch.length > this.room - more) return { kind: 'refused', reason: 'full' };
    const fresh = new Set<string>();
    const duplicateOf = batch.map(({ channel, dedupeKey }) => {
      if (dedupeKey === null) return null;
      const key = `${channel} ${dedupeKey}`;
      if (fresh.has(key)) return sameBatch;
      const known = this.#keys.get(key);
      if (known !== undefined && known.until > this.now) return known.id;
      fresh.add(key);
      this.#keys.set(key, { id: underWay, until: this.now + this.keyMs(channel) });
      return null;
    });
    return { kind: 'accepted', duplicateOf };
  }

  /** The batch was accepted under these ids. */
  accept(batch: readonly Inbound[], ids: readonly string[]): void {
    for (const [place, { dedupeKey, ...facts }] of batch.entries()) {
      const id = ids[place]!;
      const { channel } = facts;
      if (dedupeKey !== null) {
        const key = `${channel} ${dedupeKey}`;
        const known = this.#keys.get(key);
        if (known !== undefined && known.id !== underWay) continue;
        this.#keys.set(key, { id, until: this.now + this.keyMs(channel) });
      }
      const message = { ...facts, id, acceptedAt: this.now } as Message;
      const lane = `${channel} ${facts.conversation}`;
      const common = { id, channel, lane, attempt: 1, claimed: false };
      this.inbox.push({ ...common, box: 'in', message, readySince: null, givenBack: false });
    }
  }

  /** Rows that may be claimed now. */
  claimable(box: Box, channel: string): readonly Row[] {
    const rows: readonly Row[] = box === 'in' ? this.inbox : this.outbox;
    return rows.filter((row) => row.channel === channel && this.#mayBeClaimed(row));
  }

  #mayBeClaimed(row: Row): boolean {
    if (row.claimed) return false;
    if (row.box === 'in') {
      const first = this.inbox.find(({ lane }) => lane === row.lane);
      const replies = this.outbox.filter(({ lane }) => lane === row.lane).length;
      return first === row && replies < repliesMax;
    }
    if (row.dueAt !== null && row.dueAt > this.now) return false;
    return row.late || this.outbox.find(({ lane, late }) => lane === row.lane && !late) === row;
  }

  /** What a claim of that row must remember. */
  memoryOf({ lane, message }: MessageRow): Memory {
    const nothing = { session: { number: 1, startedAt: 0 }, turns: [], previousAt: null };
    if (!this.durable) return { ...nothing, empty: true };
    const known = this.#remembered.get(lane);
    if (known === undefined) {
      return { ...nothing, session: { number: 1, startedAt: message.acceptedAt }, empty: true };
    }
    return {
      session: { number: known.session, startedAt: known.startedAt },
      turns: windowOf(known.turns),
      previousAt: known.previousAt,
      empty: known.turns.length === 0,
    };
  }

  /** The message is done, or dead, and this is what it leaves. */
  finish(row: MessageRow, effects: Effects | null, dead: boolean): void {
    this.inbox = this.inbox.filter((one) => one !== row);
    if (dead) this.#dead.push(row.id);
    for (const reply of effects?.replies ?? []) this.#send(reply);
    const before = this.#remembered.get(row.lane);
    const { acceptedAt } = row.message;
    const move = effects?.session ?? null;
    const turn = effects?.turn ?? null;
    const turns = move === null ? (before?.turns ?? []) : [];
    this.#remembered.set(row.lane, {
      session: (before?.session ?? 1) + (move === null ? 0 : 1),
      startedAt: move?.at ?? before?.startedAt ?? acceptedAt,
      previousAt: acceptedAt,
      turns: turn === null ? turns : [...turns, turn],
    });
  }

  #send(reply: Reply): void {
    const { channel } = reply.address;
    const lane = `${channel} ${reply.conversation}`;
    const common = { id: reply.id, channel, lane, attempt: 1, claimed: false };
    const marks = { possibleDuplicate: false, died: 0, late: false, dueAt: null };
    const row = { box: 'out', reply, readySince: null, givenBack: false } as const;
    this.outbox.push({ ...row, ...common, ...marks });
  }

  delivered(row: ReplyRow): void {
    this.outbox = this.outbox.filter((one) => one !== row);
  }

  /** A part that dies takes the later ones of its reply with it, as one dead letter. */
  buryReply(row: ReplyRow): void {
    const lane = this.outbox.filter((one) => one.lane === row.lane && !one.late);
    const behind = lane.slice(lane.indexOf(row) + 1);
    const other = behind.findIndex(({ id }) => wholeId(id) !== wholeId(row.id));
    const parts = row.late ? [] : behind.slice(0, other < 0 ? behind.length : other);
    this.outbox = this.outbox.filter((one) => one !== row && !parts.includes(one));
    this.#dead.push(wholeId(row.id));
  }

  defer(row: ReplyRow, at: number, park: boolean, possibleDuplicate: boolean): void {
    row.claimed = false;
    row.attempt++;
    row.dueAt = at;
    row.late ||= park;
    row.possibleDuplicate = possibleDuplicate;
    row.givenBack = false;
  }

  release(row: Row): void {
    row.claimed = false;
    row.givenBack = true;
  }

  /** The process stopped as it should, and another one begins. */
  restart(): void {
    for (const row of [...this.inbox, ...this.outbox]) {
      row.claimed = false;
      row.readySince = null;
      row.givenBack = false;
    }
    this.closed = false;
  }

  /**
   * The process died: the head of each conversation may have been under way, its reply and every
   * parked one whose time had come may have been sent.
   */
  crash(): void {
    for (const row of this.inbox) {
      if (this.inbox.find(({ lane }) => lane === row.lane) === row) row.attempt++;
    }
    for (const row of this.outbox) {
      const due = row.dueAt === null || row.dueAt <= this.now;
      const head = this.outbox.find(({ lane, late }) => lane === row.lane && !late) === row;
      if (!due || !(row.late || head)) continue;
      row.attempt++;
      row.died++;
      row.possibleDuplicate = true;
    }
    this.restart();
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

/** The newest turns that fit, oldest first; a turn is taken whole or left out. */
function windowOf(turns: readonly TurnRow[]): readonly TurnRow[] {
  for (let n = Math.min(windowTurns, turns.length); ; n--) {
    const newest = n === 0 ? [] : turns.slice(-n);
    const texts = newest.map(({ text, reply }) => text + (reply ?? ''));
    if (texts.join('').length <= windowCharacters) return newest;
  }
}
