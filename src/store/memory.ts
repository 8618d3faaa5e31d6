/** The ledger without storage: it keeps order and retries, and nothing outlives the process. */
import type { Acceptance, Receipt } from '../channel/channel.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Note } from '../domain/note.ts';
import type { Journaled, ToolUse } from '../domain/tool-use.ts';
import type { Box } from '../domain/event.ts';
import type { Failure } from '../domain/failure.ts';
import type { ChannelKey, IdSource, MessageId } from '../domain/ids.ts';
import type { Inbound, Message } from '../domain/message.ts';
import type { Whose } from '../domain/story.ts';
import { OpenClaims, upTo } from './claims.ts';
import { Doorway } from './doorway.ts';
import { removeRows, rowIsOf } from './removal.ts';
import { laterParts, type Settlement } from './rows.ts';
import type {
  ChannelBacklog,
  Claim,
  CursorMove,
  DeadLetterMove,
  Effects,
  Gauges,
  InClaim,
  Ledger,
  Memory,
  OutClaim,
  Terms,
} from './store.ts';
import { StoryRing } from './story-ring.ts';
import { WorkingSet } from './working-set.ts';

export type MemoryLimits = {
  /** Messages accepted and not settled. */
  readonly messagesMax: number;
  /** The same in bytes, their replies included. */
  readonly bytesMax: number;
  readonly dedupeKeysMax: number;
};

const defaults: MemoryLimits = {
  messagesMax: 10_000,
  bytesMax: 64 * 1024 * 1024,
  dedupeKeysMax: 100_000,
};

const terms: Terms = {
  durable: false,
  deliveryGapsMs: [5_000, 45_000],
  hotGaps: 2,
  jitter: 0,
  drainMs: 30_000,
  drainsBacklog: true,
};

const nothing: Memory = {
  session: { number: 1, startedAt: 0 },
  turns: [],
  previousAt: null,
  empty: true,
};

/** @param options `now` gives milliseconds since 1970 */
export function createMemoryLedger(options: {
  readonly now: () => number;
  readonly ids: IdSource;
  readonly limits?: Partial<MemoryLimits>;
  /** Where the stories of the last messages are told, for a reader. */
  readonly stories?: StoryRing;
}): Ledger {
  const { now, ids, limits, stories = new StoryRing() } = options;
  return new MemoryLedger(now, ids, { ...defaults, ...limits }, stories);
}

type Known = { readonly id: MessageId; readonly settlement: Settlement };

class MemoryReceipt implements Receipt {
  readonly id: MessageId;
  readonly duplicate: boolean;
  readonly #settlement: Settlement;

  constructor({ id, settlement }: Known, duplicate: boolean) {
    this.id = id;
    this.duplicate = duplicate;
    this.#settlement = settlement;
  }

  get safe(): Promise<void> {
    return this.#settlement.settled;
  }
}

class MemoryLedger implements Ledger {
  readonly terms = terms;
  readonly #now: () => number;
  readonly #ids: IdSource;
  readonly #limits: MemoryLimits;
  readonly #rows: WorkingSet;
  readonly #door: Doorway;
  readonly #known = new Map<string, Known>();
  readonly #cursors = new Map<string, string>();
  readonly #open = new OpenClaims();
  readonly #stories: StoryRing;
  #deadLetters = 0;

  constructor(now: () => number, ids: IdSource, limits: MemoryLimits, stories: StoryRing) {
    this.#stories = stories;
    this.#now = now;
    this.#ids = ids;
    this.#limits = limits;
    this.#rows = new WorkingSet(now);
    this.#door = new Doorway(() => this.room());
  }

  async accept(batch: readonly Inbound[], ...cursors: readonly CursorMove[]): Promise<Acceptance> {
    const refusal = this.#door.refusal(batch);
    if (refusal !== null) return refusal;
    const receipts = batch.map((inbound) => this.#acceptOne(inbound));
    for (const { channel, name, value } of cursors) this.#cursors.set(`${channel} ${name}`, value);
    return { kind: 'accepted', receipts };
  }

  room(): { readonly messages: number; readonly bytes: number } {
    const { messagesMax, bytesMax } = this.#limits;
    return {
      messages: Math.max(0, messagesMax - this.#rows.unsettled),
      bytes: Math.max(0, bytesMax - this.#rows.bytes),
    };
  }

  whenRoom(signal: AbortSignal): Promise<void> {
    return this.#door.whenRoom(signal);
  }

  claim(box: 'in', channel: ChannelKey, n: number): Promise<readonly InClaim[]>;
  claim(box: 'out', channel: ChannelKey, n: number): Promise<readonly OutClaim[]>;
  async claim(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    return upTo<Claim>(n, () => (box === 'in' ? this.#claimIn(channel) : this.#claimOut(channel)));
  }

  async complete(claim: InClaim, effects: Effects): Promise<boolean> {
    return this.#finish(claim, null, effects);
  }

  async delivered(claim: OutClaim): Promise<boolean> {
    return this.#settleOut(claim, null);
  }

  async defer(
    claim: OutClaim,
    at: number,
    why: Failure,
    how: { readonly park: boolean; readonly possibleDuplicate: boolean },
  ): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return false;
    row.attempt++;
    row.possibleDuplicate = how.possibleDuplicate;
    this.#stories.deferred(row, this.#now(), why, { at, ...how });
    this.#rows.postpone(row, at, how.park);
    return true;
  }

  async release(claim: Claim): Promise<void> {
    const row = claim.box === 'in' ? this.#open.endIn(claim) : this.#open.endOut(claim);
    if (row === null) return;
    this.#rows.giveBack(row);
  }

  async bury(claim: Claim, why: Failure, effects?: Effects): Promise<boolean> {
    const buried =
      claim.box === 'in' ? this.#finish(claim, why, effects ?? null) : this.#settleOut(claim, why);
    if (buried) this.#deadLetters++;
    return buried;
  }

  async cursor(channel: ChannelKey, name: string): Promise<string | null> {
    return this.#cursors.get(`${channel} ${name}`) ?? null;
  }

  recall(): Promise<readonly TurnRow[]> {
    return Promise.resolve([]);
  }

  notes(): Promise<readonly Note[]> {
    return Promise.resolve([]);
  }

  toolUses(): Promise<readonly ToolUse[]> {
    return Promise.resolve([]);
  }

  journal(): Promise<Journaled> {
    return Promise.resolve({ kind: 'run' });
  }

  journalEnd(): void {}

  serve(): void {}

  replay(): Promise<DeadLetterMove> {
    return Promise.resolve('not_kept');
  }

  discard(): Promise<DeadLetterMove> {
    return Promise.resolve('not_kept');
  }

  async forget(whose: Whose): Promise<number> {
    const removed = removeRows(this.#rows, this.#open, whose, (row) => rowIsOf(whose, row));
    this.#door.settled();
    return removed;
  }

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#rows.onReady(wake);
  }

  backlog(): readonly ChannelBacklog[] {
    return this.#rows.backlog();
  }

  unsettled(most: number): readonly string[] {
    return this.#rows.idsOfUnsettled(most);
  }

  gauges(): Gauges {
    return {
      ...this.#rows.gauges(),
      deadLetters: this.#deadLetters,
      unroutable: 0,
      suspects: 0,
      tracesDropped: 0,
      bytesMax: this.#limits.bytesMax,
      messagesMax: this.#limits.messagesMax,
      rememberedBytes: 0,
      commitsPending: 0,
    };
  }

  closeIntake(): void {
    this.#door.close('shutting_down');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeIntake();
    for (const claim of this.#open) await this.release(claim);
    this.#rows.close();
  }

  #acceptOne(inbound: Inbound): Receipt {
    const { dedupeKey, ...facts } = inbound;
    const key = dedupeKey === null ? null : `${inbound.channel} ${dedupeKey}`;
    const known = key === null ? undefined : this.#known.get(key);
    if (known !== undefined) return new MemoryReceipt(known, true);
    const message: Message = { ...facts, id: this.#ids.message(), acceptedAt: this.#now() };
    const { settlement } = this.#rows.addMessage(message);
    settlement.story = this.#stories.accepted(message);
    const fresh = { id: message.id, settlement };
    if (key !== null) this.#remember(key, fresh);
    return new MemoryReceipt(fresh, false);
  }

  /** The oldest key goes when there are too many. */
  #remember(key: string, known: Known): void {
    this.#known.set(key, known);
    if (this.#known.size <= this.#limits.dedupeKeysMax) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  #claimIn(channel: ChannelKey): InClaim | null {
    const row = this.#rows.take('in', channel);
    return row === undefined ? null : this.#open.claimIn(row, nothing);
  }

  #claimOut(channel: ChannelKey): OutClaim | null {
    const row = this.#rows.take('out', channel);
    return row === undefined ? null : this.#open.claimOut(row, this.#now());
  }

  /** @param why it is a dead letter; null: it is answered */
  #finish(claim: InClaim, why: Failure | null, effects: Effects | null): boolean {
    const row = this.#open.endIn(claim);
    if (row === null) return false;
    this.#stories.settled(row, this.#now(), why, effects);
    for (const reply of effects?.replies ?? []) this.#rows.addReply(reply, row.settlement);
    this.#rows.settle(row);
    this.#door.settled();
    return true;
  }

  /** @param why it and the parts behind it are dead letters; null: it is delivered */
  #settleOut(claim: OutClaim, why: Failure | null): boolean {
    const row = this.#open.endOut(claim);
    if (row === null) return false;
    const now = this.#now();
    if (why === null) {
      this.#stories.delivered(row, now);
      this.#rows.settle(row);
    } else {
      const parts = laterParts(row);
      this.#stories.died(row, now, why, true);
      for (const part of parts) this.#stories.died(part, now, why, false);
      this.#rows.settle(row, parts);
    }
    this.#door.settled();
    return true;
  }
}
