/** The ledger without storage: it keeps order and retries, and nothing outlives the process. */
import type { Acceptance, Receipt } from '../channel/channel.ts';
import type { AuditRow } from '../domain/audit.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Note } from '../domain/note.ts';
import type { ToolUse } from '../domain/tool-use.ts';
import type { Box } from '../domain/event.ts';
import type { Failure } from '../domain/failure.ts';
import type { Deferral } from '../domain/reply.ts';
import type { ChannelKey, IdSource } from '../domain/ids.ts';
import type { Inbound, Message } from '../domain/message.ts';
import type { Whose } from '../domain/story.ts';
import type { Clock } from '../lib/clock.ts';
import { MemoryCalls } from './memory-calls.ts';
import { OpenClaims, upTo } from './claims.ts';
import { Doorway } from './doorway.ts';
import { KnownKeys, MemoryReceipt } from './known-keys.ts';
import { removeRows, rowIsOf } from './removal.ts';
import { memoryLimits, memoryTerms, type MemoryLimits } from './memory-terms.ts';
import { laterParts } from './rows.ts';
import type {
  ChannelBacklog,
  Claim,
  CursorMove,
  DeadLetterMove,
  Effects,
  Gauges,
  InClaim,
  Ledger,
  LedgerNews,
  Memory,
  OutClaim,
} from './store.ts';
import { StoryRing } from './story-ring.ts';
import { Unroutable } from './unroutable.ts';
import { WorkingSet } from './working-set.ts';

const nothing: Memory = {
  session: { number: 1, startedAt: 0 },
  turns: [],
  previousAt: null,
  empty: true,
};

export function createMemoryLedger(
  options: Clock & {
    readonly ids: IdSource;
    readonly limits?: Partial<MemoryLimits>;
    readonly news?: LedgerNews;
    /** Where the stories of the last messages are told, for a reader. */
    readonly stories?: StoryRing;
  },
): Ledger {
  const { ids, limits, stories = new StoryRing(), news = {} } = options;
  return new MemoryLedger(options, ids, { ...memoryLimits, ...limits }, stories, news);
}

class MemoryLedger implements Ledger {
  readonly terms = memoryTerms;
  readonly #now: () => number;
  readonly #ids: IdSource;
  readonly #limits: MemoryLimits;
  readonly #rows: WorkingSet;
  readonly #door: Doorway;
  readonly #known: KnownKeys;
  readonly #cursors = new Map<string, string>();
  readonly #open = new OpenClaims();
  readonly #unroutable: Unroutable;
  readonly #stories: StoryRing;
  readonly calls: MemoryCalls;
  #deadLetters = 0;

  constructor(
    { now, steady }: Clock,
    ids: IdSource,
    limits: MemoryLimits,
    stories: StoryRing,
    news: LedgerNews,
  ) {
    this.#stories = stories;
    this.calls = new MemoryCalls(this.#open, stories.uses);
    this.#now = now;
    this.#ids = ids;
    this.#limits = limits;
    this.#known = new KnownKeys(limits.dedupeKeysMax);
    this.#rows = new WorkingSet({ now, steady });
    this.#door = new Doorway(() => this.room());
    this.#unroutable = new Unroutable({
      now,
      steady,
      rows: this.#rows,
      news,
      read: () => null,
      keep: () => {},
      take: (box, channel) => (box === 'in' ? this.#claimIn(channel) : this.#claimOut(channel)),
      bury: (claim, why) => this.bury(claim, why),
    });
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
      messages: Math.max(0, messagesMax - this.#rows.accounts.unsettled),
      bytes: Math.max(0, bytesMax - this.#rows.accounts.bytes),
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

  async defer(claim: OutClaim, at: number, why: Failure, how: Deferral): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return false;
    row.attempt++;
    if (how.uncounted === true) row.replayedAfter++;
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

  async toolUses(claim: InClaim, n: number): Promise<readonly ToolUse[]> {
    if (!this.#open.has(claim)) return [];
    const { channel, conversation } = claim.message;
    return this.#stories.uses.of(channel, conversation, n);
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#unroutable.serve(channels);
  }

  replay(): Promise<DeadLetterMove> {
    return Promise.resolve('not_kept');
  }

  discard(): Promise<DeadLetterMove> {
    return Promise.resolve('not_kept');
  }

  async forget(whose: Whose): Promise<number> {
    const removed = removeRows(this.#rows, this.#open, whose, (row) => rowIsOf(whose, row));
    this.#stories.uses.remove(whose);
    this.#door.settled();
    return removed;
  }

  clearNotes(): Promise<number> {
    return Promise.resolve(0);
  }

  async recordWrite(row: AuditRow): Promise<boolean> {
    this.#stories.audit.add(row);
    return true;
  }

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#rows.onReady(wake);
  }

  backlog(): readonly ChannelBacklog[] {
    return this.#unroutable.backlog();
  }

  unsettled(most: number): readonly string[] {
    return this.#rows.idsOfUnsettled(most);
  }

  gauges(): Gauges {
    return {
      ...this.#rows.gauges(),
      deadLetters: this.#deadLetters,
      unroutable: this.#unroutable.rows,
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
    this.#unroutable.close();
    for (const claim of this.#open) await this.release(claim);
    this.#rows.close();
  }

  #acceptOne(inbound: Inbound): Receipt {
    const { dedupeKey, ...facts } = inbound;
    const key = dedupeKey === null ? null : `${inbound.channel} ${dedupeKey}`;
    const known = key === null ? null : this.#known.receiptOf(key);
    if (known !== null) return known;
    const message: Message = { ...facts, id: this.#ids.message(), acceptedAt: this.#now() };
    const { settlement } = this.#rows.addMessage(message);
    settlement.story = this.#stories.accepted(message);
    if (key !== null) this.#known.add(key, message.id, settlement);
    return new MemoryReceipt(message.id, settlement, false);
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
    this.#stories.uses.add(row.message, effects?.toolUses ?? []);
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
