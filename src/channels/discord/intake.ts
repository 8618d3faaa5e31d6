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
import type { Receipt, Receive } from '../channel.ts';
import type { RecentQuestions } from '../messenger/recent-questions.ts';
import type { Api } from './api.ts';
import { catchUp, type Refusal } from './catch-up.ts';
import type { Deferrals } from './interactions.ts';
import type { KnownChannels } from './known-channels.ts';
import { parseEdit } from './wire.ts';
import { laterOf, type Dispatch, type Session, type Sessions } from './session.ts';
import { acknowledge, parsePress, type PressMessage } from './interactions.ts';
import { parseCommand, type CommandMessage } from './interactions.ts';
import { parseMessage, selfOf, type WireMessage } from './wire.ts';

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
