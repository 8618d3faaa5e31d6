/**
 * Brings events to the ledger in their order. One commit holds a batch of messages and their
 * position in the stream, so a resume never begins beyond the stored messages. Before the first
 * event of a new session, svc fetches the messages that it missed.
 *
 * If the ledger refuses, the intake drops its queue and ends the connection; the platform repeats
 * the events when the session resumes. If events come faster than the ledger stores them, the
 * connection ends, too. It begins again once the queue is stored.
 */
import type { ChannelKey } from '../../domain/ids.ts';
import type { Events } from '../../domain/event.ts';
import type { Inbound } from '../../domain/message.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { Queue } from '../../lib/queue.ts';
import { fullJitter, pause } from '../../lib/backoff.ts';
import type { Receipt, Receive, ReceiveResult } from '../channel.ts';
import type { RecentQuestions } from '../messenger/recent-questions.ts';
import type { Api } from './api.ts';
import {
  acknowledge,
  parseCommand,
  parsePress,
  type CommandMessage,
  type Deferrals,
  type PressMessage,
} from './interactions.ts';
import { laterOf, type Dispatch, type Session, type Sessions } from './session.ts';
import {
  isLater,
  parseEdit,
  parseMessage,
  selfOf,
  snowflakeAt,
  timeOfSnowflake,
  type WireMessage,
} from './wire.ts';

export type IntakeDeps = {
  readonly key: ChannelKey;
  /** The bot's user id from its token, used until a session reports it. */
  readonly self: string;
  /** Whether svc also takes in group messages that are not said to the bot. */
  readonly acceptsOverheard: boolean;
  /** Null: the channel ignores edits. */
  readonly questions: RecentQuestions | null;
  readonly receive: Receive;
  readonly sessions: Sessions;
  readonly places: KnownChannels;
  readonly api: Api;
  readonly deferrals: Deferrals;
  readonly events: Pick<Events, 'warned' | 'noticed'>;
  readonly refused: (refusal: Refusal) => void;
  readonly faulted: (error: unknown) => void;
  readonly signal: AbortSignal;
  readonly steady: () => SteadyTime;
};

export const cursorNames = { session: 'session', places: 'places' } as const;

/** How many events may wait for the ledger; beyond that the intake is full. */
const waitingMax = 1_000;
const batchMax = 100;
/** How long the stored sequence may lag while no message is for svc. */
const storeEveryMs = 30_000;

type Item = {
  readonly session: Session;
  readonly sequence: number;
  readonly message: IncomingMessage | null;
};

type IncomingMessage = WireMessage | PressMessage | CommandMessage;

export class Intake {
  readonly #deps: IntakeDeps;
  readonly #queue = new Queue<Item>();
  #working: Promise<void> | null = null;
  /** Null: nothing was stored yet. */
  #storedAt: SteadyTime | null = null;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  /** Called when a session begins or resumes. */
  entered(): void {
    const session = this.#deps.sessions.current;
    if (session?.behind === true)
      this.#push({ session, sequence: session.sequence, message: null });
  }

  dispatched({ name, sequence, data }: Dispatch): void {
    const { sessions } = this.#deps;
    const session = sessions.current;
    if (session === null) return;
    if (name === 'READY') sessions.self = selfOf(data) ?? sessions.self;
    this.#push({ session, sequence, message: this.#parse(name, data) });
  }

  #parse(name: string, data: unknown): Item['message'] {
    if (name === 'MESSAGE_CREATE') return parseMessage(data, this.#self);
    if (name === 'MESSAGE_UPDATE' && this.#deps.questions !== null) {
      return parseEdit(data, this.#self);
    }
    if (name !== 'INTERACTION_CREATE') return null;
    return parsePress(data, this.#self) ?? parseCommand(data);
  }

  get #self(): string {
    return this.#deps.sessions.self ?? this.#deps.self;
  }

  /** Drops the queue. Its events are not acknowledged, so the platform repeats them. */
  clear(): void {
    while (this.#queue.shift() !== undefined);
  }

  /** Resolves when nothing is on its way to the ledger. */
  async settled(): Promise<void> {
    await this.#working;
  }

  #push(item: Item): void {
    if (this.#queue.length >= waitingMax) {
      // The queue is stored all the same, so each connection makes progress.
      return this.#deps.refused({ kind: 'refused', reason: 'full', retryAfterMs: 0 });
    }
    this.#queue.push(item);
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    try {
      for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
        const refusal = await (next.session.behind
          ? this.#catchUp(next.session)
          : this.#takeBatch());
        if (refusal === null) continue;
        this.clear();
        this.#deps.refused(refusal);
      }
    } catch (error) {
      this.clear();
      this.#deps.faulted(error);
    } finally {
      this.#working = null;
    }
  }

  /** Fetches the messages between two sessions. The new position is stored once all of them are. */
  async #catchUp(session: Session): Promise<Refusal | null> {
    const { sessions, places, api, signal, receive, events } = this.#deps;
    const caughtUp = await catchUp({
      api,
      places,
      self: this.#self,
      signal,
      newest: sessions.newest,
      store: async (messages) => {
        const handled = await receive(messages.map((message) => this.#inboundOf(message)));
        if (handled.kind === 'refused') return handled;
        const fresh = handled.receipts.filter((receipt) => receipt?.duplicate === false);
        return { kind: 'stored', fresh: fresh.length };
      },
    });
    if (caughtUp.kind === 'refused') return caughtUp.refusal;
    if (caughtUp.kind === 'aborted') return { kind: 'refused', reason: 'full', retryAfterMs: 0 };
    const newest = laterOf(sessions.newest, caughtUp.newest);
    const refusal = await this.#commit(session, session.sequence, newest, []);
    if (refusal !== null) return refusal;
    session.behind = false;
    const { stored, skipped, unread } = caughtUp;
    if (stored > 0) {
      const message = `${stored} messages that were said while there was no session were fetched`;
      events.noticed({ code: 'caught_up', message, details: { messages: stored } });
    }
    if (skipped > 0 || unread > 0) {
      const message =
        `Discord: of what was said while there was no session, ${skipped} messages or more were ` +
        `left out, and ${unread} channels could not be read`;
      events.warned({ code: 'messages_missed', message });
    }
    return null;
  }

  async #takeBatch(): Promise<Refusal | null> {
    const { receive, sessions, acceptsOverheard, steady } = this.#deps;
    const messages: IncomingMessage[] = [];
    const most = Math.min(batchMax, Math.max(1, receive.room()));
    let last = this.#queue.shift()!;
    const add = (message: Item['message']): void => {
      if (message !== null && this.#isWanted(message)) messages.push(message);
    };
    add(last.message);
    while (messages.length < most) {
      const next = this.#queue.peek();
      if (next === undefined || next.session !== last.session || next.session.behind) break;
      last = this.#queue.shift()!;
      add(last.message);
    }
    const { session, sequence } = last;
    const newest = messages.reduce<string | null>(
      (latest, { id }) => laterOf(latest, id),
      sessions.newest,
    );
    // Messages that the gate turns away need no commit of their own.
    const hasWanted = messages.some(({ setting }) => acceptsOverheard || setting !== 'overheard');
    if (!hasWanted && messages.length > 0) {
      await receive(messages.map((one) => this.#inboundOf(one)));
      for (const message of messages) this.#noteReceipt(message, null);
    }
    if (hasWanted || this.#storedAt === null || steady() - this.#storedAt > storeEveryMs) {
      return this.#commit(session, sequence, newest, hasWanted ? messages : []);
    }
    sessions.advance(session, sequence, newest);
    return null;
  }

  /** Whether the message goes to the ledger; some edits do not. */
  #isWanted(message: IncomingMessage): boolean {
    if ('press' in message) return true;
    return this.#deps.questions?.admits(message.id, message, message.edits) ?? true;
  }

  #noteReceipt(message: IncomingMessage, receipt: Receipt | null): void {
    if ('press' in message) return;
    this.#deps.questions?.noteReceipt(message.id, message.edits, receipt);
  }

  /** Accepts the messages and stores the position behind them, in one commit. */
  async #commit(
    session: Session,
    sequence: number,
    newest: string | null,
    messages: readonly IncomingMessage[],
  ): Promise<Refusal | null> {
    const { receive, sessions, places, steady, api, deferrals } = this.#deps;
    const handled = await receive(
      messages.map((message) => this.#inboundOf(message)),
      { name: cursorNames.session, value: sessions.textOf(session, sequence, newest) },
    );
    if (handled.kind === 'refused') return handled;
    sessions.advance(session, sequence, newest);
    this.#storedAt = steady();
    let hasNewChannel = false;
    for (const [index, message] of messages.entries()) {
      const receipt = handled.receipts[index]!;
      this.#noteReceipt(message, receipt);
      if (receipt === null) continue;
      const { conversation, setting } = message;
      if ('press' in message) acknowledge(api, message.press);
      if ('deferral' in message) deferrals.defer(api, message.deferral);
      hasNewChannel =
        places.add({ id: conversation, direct: setting === 'direct' }) || hasNewChannel;
    }
    if (hasNewChannel) await receive([], { name: cursorNames.places, value: places.text });
    return null;
  }

  #inboundOf(message: WireMessage): Inbound {
    const { key } = this.#deps;
    const { id, conversation, sender, text, media, setting, target, edits } = message;
    const { further, context, saidAt } = message;
    const dedupeKey = edits === undefined ? id : `edit:${edits}`;
    const extras = { ...(further !== undefined && { further }), ...(context && { context }) };
    const content = { text, media, ...extras, ...(saidAt && { saidAt }) };
    const apart = edits === undefined ? {} : ({ apart: 'edit', edits } as const);
    const facts = { conversation, sender, ...content, ...apart, setting };
    return { ...facts, channel: key, address: { channel: key, target }, dedupeKey };
  }
}

// Fetches the messages that svc missed after a lost session. It reads each known channel over REST,
// oldest message first, up to a cap, and counts the messages beyond the cap.
//
// Ids are snowflakes. So one mark, the newest stored message, is the starting point for every
// channel. Fetching begins a few seconds before the mark, since messages of different channels may
// arrive out of order. The ledger recognises a stored message by its id.

const overlapMs = 5_000;
/** The platform's own maximum. */
const pageMax = 100;
const messagesOfPlaceMax = 300;
const messagesMax = 2_000;
const triesMax = 4;
const limitedMsMax = 30_000;

export type Refusal = Extract<ReceiveResult, { kind: 'refused' }>;

type CatchUpDeps = {
  readonly api: Api;
  readonly places: KnownChannels;
  readonly self: string;
  /** Null: nothing was ever stored, so nothing is missing. */
  readonly newest: string | null;
  readonly signal: AbortSignal;
  readonly store: (
    messages: readonly WireMessage[],
  ) => Promise<{ kind: 'stored'; fresh: number } | Refusal>;
};

type CaughtUp =
  | {
      readonly kind: 'done';
      readonly stored: number;
      /** How many messages were fetched beyond the cap; there may be more. */
      readonly skipped: number;
      /** How many channels could not be read. */
      readonly unread: number;
      readonly newest: string | null;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'aborted' };

async function catchUp(deps: CatchUpDeps): Promise<CaughtUp> {
  const { places, newest, signal } = deps;
  const sum = { stored: 0, skipped: 0, unread: 0, newest };
  if (newest === null) return { kind: 'done', ...sum };
  const from = snowflakeAt(timeOfSnowflake(newest) - overlapMs);
  for (const place of places.all) {
    const read = await readPlace(deps, place, from, messagesMax - sum.stored);
    if (signal.aborted) return { kind: 'aborted' };
    if (read.kind === 'refused') return { kind: 'refused', refusal: read };
    sum.stored += read.stored;
    sum.skipped += read.skipped;
    sum.unread += read.unread ? 1 : 0;
    sum.newest = laterOf(sum.newest, read.newest);
  }
  return { kind: 'done', ...sum };
}

type Read = {
  readonly kind: 'read';
  readonly stored: number;
  readonly skipped: number;
  readonly unread: boolean;
  readonly newest: string | null;
};

async function readPlace(
  deps: CatchUpDeps,
  place: KnownChannel,
  from: string,
  mostMessages: number,
): Promise<Read | Refusal> {
  const { store, self } = deps;
  let [after, fetched, stored] = [from, 0, 0];
  let newest: string | null = null;
  for (;;) {
    const page = await fetchPage(deps, place, after);
    const soFar = { kind: 'read', stored, newest } as const;
    if (page === null) return { ...soFar, skipped: 0, unread: true };
    const messages = page
      .map((wire) => parseMessage(wire, self, place.direct))
      .filter((message) => message !== null)
      .sort((a, b) => (isLater(a.id, b.id) ? 1 : -1));
    if (fetched >= messagesOfPlaceMax || stored >= mostMessages) {
      return { ...soFar, skipped: messages.length, unread: false };
    }
    const result = await store(messages);
    if (result.kind === 'refused') return result;
    fetched += page.length;
    stored += result.fresh;
    for (const wire of page) {
      const { id } = wire as { id?: unknown };
      if (typeof id === 'string' && isLater(id, after)) after = id;
    }
    newest = after === from ? newest : after;
    if (page.length < pageMax) return { ...soFar, stored, newest, skipped: 0, unread: false };
  }
}

/** @returns null: svc cannot read the channel */
async function fetchPage(
  { api, places, signal }: CatchUpDeps,
  { id }: KnownChannel,
  after: string,
): Promise<readonly unknown[] | null> {
  for (let attempt = 0; attempt < triesMax && !signal.aborted; attempt++) {
    const route = `/channels/${id}/messages?after=${after}&limit=${pageMax}` as const;
    const result = await api.call('GET', route, { signal });
    if (result.kind === 'ok') return Array.isArray(result.body) ? result.body : null;
    const status = result.kind === 'refused' ? result.status : 0;
    if (status === 403 || status === 404) {
      // The channel is gone, or the bot may no longer read it.
      places.remove(id);
      return null;
    }
    const limitedMs = result.kind === 'refused' ? result.retryAfterMs : null;
    const waitMs = limitedMs ?? 500 + fullJitter(attempt, { baseMs: 500, capMs: 4_000 });
    await pause(Math.min(waitMs, limitedMsMax), signal);
  }
  return null;
}

/** In which somebody wrote to svc. */
type KnownChannel = { readonly id: string; readonly direct: boolean };

const placesMax = 200;

/** The channels in which somebody wrote to svc, the oldest first; at most 200. */

export class KnownChannels {
  readonly #direct = new Map<string, boolean>();

  /** @param text a former value of `text`; null: there is none */
  constructor(text: string | null) {
    for (const place of parseKnown(text)) this.#direct.set(place.id, place.direct);
  }

  /** Newest first. */
  get all(): readonly KnownChannel[] {
    return [...this.#direct].map(([id, direct]) => ({ id, direct })).reverse();
  }

  get text(): string {
    return JSON.stringify([...this.#direct].map(([id, direct]) => (direct ? `d${id}` : id)));
  }

  /** @returns whether the channel is new; it may have displaced the oldest one */
  add({ id, direct }: KnownChannel): boolean {
    if (this.#direct.has(id)) return false;
    this.#direct.set(id, direct);
    if (this.#direct.size > placesMax) this.remove(this.#direct.keys().next().value!);
    return true;
  }

  remove(id: string): void {
    this.#direct.delete(id);
  }
}

function parseKnown(text: string | null): KnownChannel[] {
  try {
    const stored: unknown = JSON.parse(text ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored
      .filter((one): one is string => typeof one === 'string' && /^d?[0-9]{1,20}$/.test(one))
      .map((one) => ({ id: one.replace('d', ''), direct: one.startsWith('d') }));
  } catch {
    return [];
  }
}
