/** The ledger without storage: nothing outlives the process, and every write happens at once. */
import { historyBounds, noStarts } from '../../domain/conversation.ts';
import type { Acceptance, Receipt } from '../../channels/channel.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { IdSource, MessageId, ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Attachment } from '../../domain/attachment.ts';
import type { Media, Message } from '../../domain/message.ts';
import type { BegunCall, CallEnding } from '../../domain/tool-use.ts';
import { QueueLedger } from '../engine/engine.ts';
import type {
  Arrival,
  Awaitable,
  DeferredUntil,
  DeliveryEnd,
  Enter,
  FailedDelivery,
  LedgerStorage,
  StoredAttachments,
  TurnEnd,
} from '../engine/storage.ts';
import { conflict, Cursors } from '../engine/cursors.ts';
import { isWhole, type OutRow, type Row, type MessageProgress } from '../engine/queue.ts';
import { WorkingSet, type MergeClock } from '../engine/working-set.ts';
import type { CursorMove, Ledger, Durability, Effects, LedgerNews } from '../ledger.ts';
import { StoryRing } from './story-ring.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { ConversationKey } from '../../domain/story.ts';

// Sensitivity labels of conversations since the start, where no turns are kept. A conversation that
// had something private stays private, since its later replies may repeat it.

/** Above this number of private conversations, a whole channel counts as private. */
const conversationsMax = 10_000;

export class ProcessLabels {
  readonly #private = new Map<ChannelKey, Set<ConversationId>>();

  of({ channel, conversation }: ConversationKey): Sensitivity {
    const known = this.#private.get(channel);
    if (known === undefined) return 'public';
    return known.size >= conversationsMax || known.has(conversation) ? 'private' : 'public';
  }

  /** Call before a reply of the turn goes out. */
  ended(message: Message, effects: Pick<Effects, 'turn'> | null): void {
    const { channel, conversation, sensitivity } = message;
    if (sensitivity === 'public' && effects?.turn?.sensitivity !== 'private') return;
    const known = this.#private.get(channel) ?? new Set();
    this.#private.set(channel, known);
    if (known.size < conversationsMax) known.add(conversation);
  }
}

/** The limits of the memory backend. */
export type MemoryLimits = {
  /** The most unsettled messages. */
  readonly messagesMax: number;
  /** The most bytes of unsettled messages and their replies. */
  readonly bytesMax: number;
  readonly dedupeKeysMax: number;
};

export const memoryLimits: MemoryLimits = {
  messagesMax: 10_000,
  bytesMax: 64 * 1024 * 1024,
  dedupeKeysMax: 100_000,
};

export const memoryDurability: Durability = {
  durable: false,
  deliveryGapsMs: [5_000, 45_000],
  hotGaps: 2,
  jitter: 0,
  drainMs: 30_000,
  drainsBacklog: true,
};

/** Whether a message is new, a resend, or another message with the key of an earlier one. */
type Recognition = 'new' | 'duplicate' | 'key_reused';

class MemoryReceipt implements Receipt {
  readonly id: MessageId;
  readonly duplicate: boolean;
  readonly keyReused: boolean;
  readonly #progress: MessageProgress;

  constructor(id: MessageId, progress: MessageProgress, recognition: Recognition) {
    this.id = id;
    this.duplicate = recognition === 'duplicate';
    this.keyReused = recognition === 'key_reused';
    this.#progress = progress;
  }

  get safe(): Promise<void> {
    return this.#progress.settled;
  }
}

/** `fingerprint`: of the text; null: it is not compared. */
type KnownMessage = {
  readonly id: MessageId;
  readonly fingerprint: string | null;
  readonly progress: MessageProgress;
};

class KnownKeys {
  readonly #keys = new Map<string, KnownMessage>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** The receipt of an earlier message with this key; null: none had it. */
  receiptOf(key: string, fingerprint: string | null): Receipt | null {
    const known = this.#keys.get(key);
    if (known === undefined) return null;
    const { id, progress } = known;
    const compared = fingerprint !== null && known.fingerprint !== null;
    const isOther = compared && known.fingerprint !== fingerprint;
    return new MemoryReceipt(id, progress, isOther ? 'key_reused' : 'duplicate');
  }

  /** Adds a key. The oldest key is dropped when there are too many. */
  add(key: string, message: KnownMessage): void {
    this.#keys.set(key, message);
    if (this.#keys.size <= this.#most) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}

export function createMemoryLedger(
  options: MergeClock & {
    readonly ids: IdSource;
    readonly limits?: Partial<MemoryLimits>;
    readonly news?: LedgerNews;
    /** The ring that a reader reads the stories of the last messages from. */
    readonly stories?: StoryRing;
  },
): Ledger {
  const { now, steady, deadlines, ids, limits, stories = new StoryRing(), news = {} } = options;
  const storage = new MemoryStorage({ ...memoryLimits, ...limits }, stories);
  const rows = new WorkingSet({ now, steady, ...(deadlines !== undefined && { deadlines }) });
  return new QueueLedger({ now, steady, ids, rows, storage, news });
}

const done = Promise.resolve(true);

/** Keeps attachments as long as the message is at work, since its media is a part of it. */
function attachmentsInMemory(): StoredAttachments {
  const kept = new WeakMap<Media, readonly Attachment[]>();
  return {
    async keep({ media }, attachments) {
      if (media !== null) kept.set(media, attachments);
      return true;
    },
    of: ({ media }) => (media === null ? [] : (kept.get(media) ?? [])),
    acceptedAt: () => [],
    picturesSince: () => [],
  };
}

/** The storage of the memory backend: it records stories, and keeps cursors and keys. */
export class MemoryStorage implements LedgerStorage {
  readonly durability = memoryDurability;
  readonly limits: LedgerStorage['limits'];
  readonly hasRoom = true;
  readonly mayHandOut = true;
  readonly crashIsolation: LedgerStorage['crashIsolation'] = null;
  readonly figures: LedgerStorage['figures'];
  readonly approvals: LedgerStorage['approvals'];
  readonly spend: LedgerStorage['spend'];
  readonly attachments = attachmentsInMemory();
  readonly #stories: StoryRing;
  readonly #known: KnownKeys;
  readonly #labels = new ProcessLabels();
  protected readonly cursors = new Cursors(() => null);
  readonly history: LedgerStorage['history'] = {
    bytes: 0,
    bounds: historyBounds,
    remember: () => {},
    of: ({ acceptedAt }) => {
      const session = { number: 1, startedAt: acceptedAt };
      return { session, turns: [], windows: noStarts, previousAt: null, empty: true };
    },
    said: () => [],
    earlier: (message) => ({ kind: 'label', sensitivity: this.#labels.of(message) }),
    brainOfTurn: () => null,
    cursor: (channel, name) => this.cursors.of(channel, name),
    unroutableSince: () => null,
  };
  readonly agents: LedgerStorage['agents'] = {
    notes: () => [],
    toolUses: ({ channel, conversation }, n) => this.#stories.uses.of(channel, conversation, n),
    callsOf: () => [],
  };
  readonly deadLetters = {
    /** Since the start. */
    count: 0,
    replay: async () => 'not_kept' as const,
    discard: async () => 'not_kept' as const,
  };
  readonly forgetting: LedgerStorage['forgetting'] = {
    forget: async ({ whose, beforeId, removed }) => {
      this.#stories.uses.remove(whose);
      this.#stories.approvals.remove(whose, beforeId);
      if (whose.kind === 'sender') this.#stories.spend.forget(whose.channel, whose.sender);
      return removed;
    },
    clearNotes: async () => 0,
  };

  readonly takeovers: LedgerStorage['takeovers'] = {
    found: [],
    keep: async () => true,
    expired: () => {},
    answered: async (ends, then) => {
      for (const end of ends) this.#recordEnd(end);
      then();
      return 'answered';
    },
  };

  constructor({ messagesMax, bytesMax, dedupeKeysMax }: MemoryLimits, stories: StoryRing) {
    this.limits = { messagesMax, bytesMax };
    this.#stories = stories;
    this.figures = stories.figures;
    this.approvals = stories.approvals;
    this.spend = stories.spend;
    this.#known = new KnownKeys(dedupeKeysMax);
  }

  gauges() {
    return { tracesDropped: 0, commitsPending: 0 };
  }

  listen(): void {}

  async accept(
    arrivals: readonly Arrival[],
    moves: readonly CursorMove[],
    enter: Enter,
  ): Promise<Acceptance> {
    return this.cursors.move(moves) ? this.commitAccepted(arrivals, moves, enter) : conflict;
  }

  /** @param moves have passed `cursors.move` */
  protected commitAccepted(
    arrivals: readonly Arrival[],
    moves: readonly CursorMove[],
    enter: Enter,
  ): Acceptance {
    const receipts = arrivals.map((arrival) => this.#acceptOne(arrival, enter));
    this.cursors.landed(moves);
    return { kind: 'accepted', receipts };
  }

  readonly isReady = isWhole;

  /** Every row has its text: none is ever restored. */
  read(_rows: readonly Row[]): Awaitable<void> {}

  turnEnded(end: TurnEnd, then: () => void): Promise<boolean> {
    this.#recordEnd(end);
    if (end.why !== null) this.deadLetters.count += 1 + (end.joined?.length ?? 0);
    then();
    return done;
  }

  delivered({ row, at }: DeliveryEnd, then: () => void): Promise<boolean> {
    this.#stories.delivered(row, at);
    then();
    return done;
  }

  deferred(end: FailedDelivery & DeferredUntil, then: () => void): Promise<boolean> {
    const { row, at, why, dueAt, how } = end;
    this.#stories.deferred(row, at, why, { at: dueAt, ...how });
    then();
    return done;
  }

  triedNow(rows: readonly OutRow[], at: number, then: () => void): Promise<boolean> {
    for (const row of rows) this.#stories.dueNow(row, at);
    then();
    return done;
  }

  buried(end: FailedDelivery, parts: readonly OutRow[], then: () => void): Promise<boolean> {
    const { row, at, why } = end;
    if (this.#stories.died(row, at, why, true)) this.deadLetters.count++;
    for (const part of parts) this.#stories.died(part, at, why, false);
    then();
    return done;
  }

  callBegun(message: Message, call: BegunCall): Promise<boolean> {
    this.#stories.uses.begun(message, call);
    return done;
  }

  previewed(): Promise<boolean> {
    return done;
  }

  callEnded(key: string, ending: CallEnding): void {
    this.#stories.uses.ended(key, ending);
  }

  audit(row: AuditRow): Promise<boolean> {
    this.#stories.audit.add(row);
    return done;
  }

  keepUnroutable(): void {}

  written(): Promise<boolean> {
    return done;
  }

  noteFailure(): void {}

  async close(): Promise<void> {}

  #recordEnd({ row, at, why, effects, joined = [] }: TurnEnd): void {
    this.#stories.settled(row, at, why, effects);
    this.#labels.ended(row.message, effects);
    for (const { row: other, trace } of joined) {
      this.#stories.settled(other, at, why, { replies: [], trace });
      this.#labels.ended(other.message, null);
    }
    this.#stories.uses.add(row.message, effects?.toolUses ?? []);
    if (effects?.asked === undefined && effects?.settled === undefined) return;
    this.#stories.approvals.turnEnded(effects, at);
  }

  #acceptOne(arrival: Arrival, enter: Enter): Receipt {
    const { message, dedupeKey, keyCheck } = arrival;
    const key = dedupeKey === null ? null : `${message.channel} ${dedupeKey}`;
    const fingerprint = keyCheck?.fingerprint ?? null;
    const known = key === null ? null : this.#known.receiptOf(key, fingerprint);
    if (known !== null) return known;
    const progress = enter(arrival);
    progress.story = this.#stories.accepted(message);
    if (key !== null) this.#known.add(key, { id: message.id, fingerprint, progress });
    return new MemoryReceipt(message.id, progress, 'new');
  }
}
