/**
 * Brings events to the ledger in their order. One commit holds a batch of messages and their
 * position in the stream, so a resume never begins beyond the stored messages. Before the first
 * event of a new session, svc fetches the messages that it missed.
 *
 * If the ledger refuses, the intake drops its queue and ends the connection; the platform repeats
 * the events when the session resumes. If events come faster than the ledger stores them, the
 * connection ends, too. It begins again once the queue is stored.
 */
import type { Inbound } from '../../domain/message.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { fieldsOf, listOf, parseJson, textOf } from '../../lib/json.ts';
import { Queue } from '../../lib/queue.ts';
import { fullJitter, pause } from '../../lib/backoff.ts';
import type { Receipt, ReceiveResult } from '../channel.ts';
import type { Api } from './api.ts';
import {
  acknowledge,
  parseCommand,
  parsePress,
  type Deferrals,
  type IncomingMessage,
} from './interactions.ts';
import { discord } from './kind.ts';
import { cursorNames, laterOf, type Dispatch, type GatewayDeps, type Session } from './session.ts';
import type { Threads } from './threads.ts';
import { isLater, parseEdit, parseMessage, selfOf, snowflakeAt, timeOfSnowflake } from './wire.ts';

type IntakeDeps = GatewayDeps & {
  readonly places: KnownChannels;
  readonly threads: Threads;
  readonly api: Api;
  readonly deferrals: Deferrals;
  readonly refused: (refusal: Refusal) => void;
  readonly signal: AbortSignal;
};

/** How many events may wait for the ledger; beyond that the intake is full. */
const waitingMax = 1_000;
const batchMax = 100;
/** How long the stored sequence may lag while no message is for svc. */
const storeEveryMs = 30_000;

const overlapMs = 5_000;
/** The platform's own maximum. */
const pageMax = 100;
const messagesOfPlaceMax = 300;
const messagesMax = 2_000;
const triesMax = 4;
const limitedMsMax = 30_000;

/** What svc missed while it had no session. */
type Missed = {
  stored: number;
  /** How many messages were fetched beyond the cap; there may be more. */
  skipped: number;
  /** How many channels could not be read. */
  unread: number;
  newest: string | null;
};

/** `unanswered`: the platform did not tell what the ledger needs to know. */
export type Refusal =
  | Extract<ReceiveResult, { kind: 'refused' }>
  | { readonly kind: 'refused'; readonly reason: 'unanswered'; readonly retryAfterMs: number };

type Item = {
  readonly session: Session;
  readonly sequence: number;
  readonly message: IncomingMessage | null;
};

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
    if (session === null || !session.behind) return;
    this.#push({ session, sequence: session.sequence, message: null });
  }

  dispatched({ name, sequence, data }: Dispatch): void {
    const { sessions, threads } = this.#deps;
    const session = sessions.current;
    if (session === null) return;
    if (name === 'READY') sessions.self = selfOf(data) ?? sessions.self;
    threads.note(name, data);
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

  /** The bot's user id; the token has it, too, until a session reports it. */
  get #self(): string {
    return this.#deps.sessions.self ?? discord.botOf(this.#deps.token) ?? '';
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
    const { sessions, places, signal, events } = this.#deps;
    const missed: Missed = { stored: 0, skipped: 0, unread: 0, newest: sessions.newest };
    // If nothing was ever stored, nothing is missing.
    for (const place of missed.newest === null ? [] : places.all) {
      const refusal = await this.#catchUpIn(place, missed);
      if (signal.aborted) return { kind: 'refused', reason: 'full', retryAfterMs: 0 };
      if (refusal !== null) return refusal;
    }
    const newest = laterOf(sessions.newest, missed.newest);
    const refusal = await this.#commit(session, session.sequence, newest, []);
    if (refusal !== null) return refusal;
    session.behind = false;
    const { stored, skipped, unread } = missed;
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

  /**
   * Fetches the missed messages of one channel, oldest first, up to a cap. Fetching begins a few
   * seconds before the newest stored message, since messages of different channels may arrive out
   * of order. The ledger recognises a stored message by its id.
   */
  async #catchUpIn(place: KnownChannel, missed: Missed): Promise<Refusal | null> {
    const { sessions, receive } = this.#deps;
    const from = snowflakeAt(timeOfSnowflake(sessions.newest ?? '0') - overlapMs);
    for (let [after, fetched] = [from, 0]; ;) {
      const page = await this.#fetchPage(place, after);
      if (page === null) {
        missed.unread++;
        return null;
      }
      const messages = page
        .map((wire) => parseMessage(wire, this.#self, place.direct))
        .filter((message) => message !== null)
        .sort((a, b) => (isLater(a.id, b.id) ? 1 : -1));
      if (fetched >= messagesOfPlaceMax || missed.stored >= messagesMax) {
        missed.skipped += messages.length;
        return null;
      }
      const batch = await this.#batchOf(messages);
      if (batch === null) return unanswered;
      const handled = await receive(batch);
      if (handled.kind === 'refused') return handled;
      fetched += page.length;
      missed.stored += handled.receipts.filter((receipt) => receipt?.duplicate === false).length;
      for (const id of page.map((wire) => textOf(fieldsOf(wire)['id']))) {
        if (isLater(id, after)) after = id;
      }
      if (after !== from) missed.newest = laterOf(missed.newest, after);
      if (page.length < pageMax) return null;
    }
  }

  /** @returns null: svc cannot read the channel */
  async #fetchPage({ id }: KnownChannel, after: string): Promise<readonly unknown[] | null> {
    const { api, places, signal } = this.#deps;
    for (let attempt = 0; attempt < triesMax && !signal.aborted; attempt++) {
      const route = `/channels/${id}/messages?after=${after}&limit=${pageMax}` as const;
      const result = await api.call('GET', route, { signal });
      if (result.kind === 'ok') return Array.isArray(result.body) ? result.body : null;
      // A firewall's page says nothing about the channel (discord-api-docs#849).
      const isOfDiscord =
        result.kind === 'refused' && (result.code !== null || result.description !== '');
      if (isOfDiscord && (result.status === 403 || result.status === 404)) {
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

  async #takeBatch(): Promise<Refusal | null> {
    const { receive, sessions, steady } = this.#deps;
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
    const hasWanted = messages.some((message) => this.#mayPass(message));
    if (!hasWanted && messages.length > 0) {
      await receive(messages.map((one) => this.#inboundOf(one, null)));
      for (const message of messages) this.#noteReceipt(message, null);
    }
    if (hasWanted || this.#storedAt === null || steady() - this.#storedAt > storeEveryMs) {
      return this.#commit(session, sequence, newest, hasWanted ? messages : []);
    }
    sessions.advance(session, sequence, newest);
    return null;
  }

  /** Whether the gate may let the message pass. */
  #mayPass({ setting }: IncomingMessage): boolean {
    return setting !== 'overheard' || this.#deps.config.access?.groups === 'all';
  }

  /** Whether the message goes to the ledger; some edits do not. */
  #isWanted(message: IncomingMessage): boolean {
    if (message.press !== undefined) return true;
    return this.#deps.questions?.admits(message.id, message, message.edits) ?? true;
  }

  #noteReceipt(message: IncomingMessage, receipt: Receipt | null): void {
    if (message.press !== undefined) return;
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
    const batch = await this.#batchOf(messages);
    if (batch === null) return unanswered;
    const value = sessions.textOf(session, sequence, newest);
    const handled = await receive(batch, { name: cursorNames.session, value });
    if (handled.kind === 'refused') return handled;
    sessions.advance(session, sequence, newest);
    this.#storedAt = steady();
    let hasNewChannel = false;
    for (const [index, message] of messages.entries()) {
      const receipt = handled.receipts[index]!;
      this.#noteReceipt(message, receipt);
      if (receipt === null) continue;
      const { conversation, setting, press, deferral } = message;
      if (press !== undefined) acknowledge(api, press);
      if (deferral !== undefined) deferrals.defer(api, deferral);
      const isNew = places.add({ id: conversation, direct: setting === 'direct' });
      hasNewChannel ||= isNew;
    }
    if (hasNewChannel) await receive([], { name: cursorNames.places, value: places.text });
    return null;
  }

  /** @returns null: the platform did not tell the channel of a thread */
  async #batchOf(messages: readonly IncomingMessage[]): Promise<readonly Inbound[] | null> {
    const { threads, signal, receive } = this.#deps;
    const isAsked = receive.asksForChats();
    const batch: Inbound[] = [];
    for (const message of messages) {
      const isOfGuild = isAsked && message.setting !== 'direct' && this.#mayPass(message);
      const above = isOfGuild ? await threads.channelOf(message.conversation, signal) : null;
      if (above === undefined) return null;
      batch.push(this.#inboundOf(message, above));
    }
    return batch;
  }

  /** @param above the channel of the message's thread; null: it is in no thread */
  #inboundOf(
    { id, target, press: _press, deferral: _deferral, ...said }: IncomingMessage,
    above: string | null,
  ): Inbound {
    const { key: channel } = this.#deps;
    const dedupeKey = said.edits === undefined ? id : `edit:${said.edits}`;
    const aliases = above !== null && { chatAliases: [above] };
    return { channel, ...said, ...aliases, address: { channel, target }, dedupeKey };
  }
}

const unanswered: Refusal = { kind: 'refused', reason: 'unanswered', retryAfterMs: 0 };

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
  return listOf(parseJson(text ?? ''))
    .filter((one): one is string => typeof one === 'string' && /^d?[0-9]{1,20}$/.test(one))
    .map((one) => ({ id: one.replace('d', ''), direct: one.startsWith('d') }));
}
