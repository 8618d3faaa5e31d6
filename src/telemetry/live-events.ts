/**
 * The live events of the hub: a ring of the last thousand, each with a number. The ring waits for
 * no listener and stores nothing per listener. A listener reads on from its own number, and loses
 * events that have left the ring by then. With no listener an event costs one small object.
 *
 * Live events of other processes enter the same ring and take its next numbers. So a listener that
 * comes back reads on from its number, whichever process sent the events it missed.
 */
import type { Events } from '../domain/event.ts';
import type { Dropped, LiveEvent } from '../domain/live-event.ts';

export const liveEventsKept = 1_000;

/** The ring, for a listener. */
export type LiveEventRing = Readonly<
  Pick<LiveEvents, 'epoch' | 'newest' | 'oldest' | 'at' | 'onLiveEvent'>
>;

/** The methods of `Events` that produce live events. */
type Sources = Pick<
  Events,
  | 'messageAccepted'
  | 'messageRefused'
  | 'messageTurnedAway'
  | 'turnStarted'
  | 'turnFinished'
  | 'commandAnswered'
  | 'answeredByOperator'
  | 'toolUsed'
  | 'modelAnswered'
  | 'replyDelivered'
  | 'deliveryFailed'
  | 'buried'
  | 'channelChanged'
  | 'configUsed'
  | 'warned'
  | 'operatorWrote'
>;
type Unnamed<Each> = Each extends LiveEvent ? Omit<Each, 'instance'> : never;
type Of<Method extends keyof Sources> = Parameters<Sources[Method]>[0];

export class LiveEvents implements Sources {
  /** Distinguishes this process from those before and after it. */
  readonly epoch: string;
  readonly #now: () => number;
  readonly #ring: (LiveEvent | Dropped | undefined)[] = Array.from({ length: liveEventsKept });
  readonly #wakes = new Set<() => void>();
  readonly #listened = new Set<() => void>();
  #ownListener: ((liveEvent: LiveEvent) => void) | null = null;
  #ownInstance: () => number | null = () => null;
  /** The number of the newest event; 0: there was none. Numbers count from 1. */
  newest = 0;

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
    this.epoch = Math.floor(now()).toString(36);
  }

  /** The number of the oldest event in the ring; `newest + 1` when the ring is empty. */
  get oldest(): number {
    return Math.max(1, this.newest - liveEventsKept + 1);
  }

  /** @returns null when the event has left the ring, or does not exist yet */
  at(number: number): LiveEvent | Dropped | null {
    if (number < this.oldest || number > this.newest) return null;
    return this.#ring[number % liveEventsKept] ?? null;
  }

  /**
   * Calls `wake` after each event; `wake` must return at once.
   * @returns a function that ends the calls
   */
  onLiveEvent(wake: () => void): () => void {
    this.#wakes.add(wake);
    if (this.#wakes.size === 1) for (const changed of this.#listened) changed();
    return () => {
      if (!this.#wakes.delete(wake) || this.#wakes.size > 0) return;
      for (const changed of this.#listened) changed();
    };
  }

  /** Whether somebody listens at this process. */
  get isListened(): boolean {
    return this.#wakes.size > 0;
  }

  /**
   * Calls `changed` when `isListened` changes; `changed` must return at once.
   * @returns a function that ends the calls
   */
  onListened(changed: () => void): () => void {
    this.#listened.add(changed);
    return () => this.#listened.delete(changed);
  }

  /**
   * Gives each live event of this process to `listener`, and none of others.
   * @returns a function that ends that
   */
  onOwn(listener: (liveEvent: LiveEvent) => void): () => void {
    this.#ownListener = listener;
    return () => {
      if (this.#ownListener === listener) this.#ownListener = null;
    };
  }

  /** From now on each live event of this process carries the number that `own` returns. */
  name(own: () => number | null): void {
    this.#ownInstance = own;
  }

  /** Adds a live event of another process. `dropped` stands for events that did not arrive. */
  hear(liveEvent: LiveEvent | Dropped): void {
    this.#ring[++this.newest % liveEventsKept] = liveEvent;
    if (this.#wakes.size > 0) for (const wake of this.#wakes) wake();
  }

  messageAccepted({ channel, id, duplicate }: Of<'messageAccepted'>): void {
    this.#add({ kind: 'message_accepted', at: this.#now(), channel, id, duplicate });
  }

  messageRefused({ channel, code }: Of<'messageRefused'>): void {
    this.#add({ kind: 'message_refused', at: this.#now(), channel, code });
  }

  messageTurnedAway({ channel, reason }: Of<'messageTurnedAway'>): void {
    this.#add({ kind: 'message_turned_away', at: this.#now(), channel, reason });
  }

  turnStarted({ channel, id, brain, waitedMs }: Of<'turnStarted'>): void {
    this.#add({ kind: 'turn_started', at: this.#now(), channel, id, brain, waitedMs });
  }

  /** The decision holds the reply's text, so only two of its fields are used. */
  turnFinished({ channel, id, brain, decision, ms }: Of<'turnFinished'>): void {
    const outcome = decision.kind === 'apology' ? decision.apology : decision.kind;
    const model = decision.kind === 'reply' ? decision.model : null;
    this.#add({ kind: 'turn_finished', at: this.#now(), channel, id, brain, outcome, model, ms });
  }

  commandAnswered({ channel, id, brain, command, ms }: Of<'commandAnswered'>): void {
    this.#add({ kind: 'command_answered', at: this.#now(), channel, id, brain, command, ms });
  }

  answeredByOperator({ channel, id, brain, ms }: Of<'answeredByOperator'>): void {
    const fields = { channel, id, brain, outcome: 'by_hand', model: null, ms } as const;
    this.#add({ kind: 'turn_finished', at: this.#now(), ...fields });
  }

  toolUsed({ channel, id, brain, tool, mode, outcome, ms }: Of<'toolUsed'>): void {
    const use = { tool, mode, outcome, ms };
    this.#add({ kind: 'tool_used', at: this.#now(), channel, id, brain, ...use });
  }

  modelAnswered({ model, provider, result, ms }: Of<'modelAnswered'>): void {
    this.#add({ kind: 'model_answered', at: this.#now(), model, provider, result, ms });
  }

  replyDelivered({ channel, id, message, attempt, totalMs }: Of<'replyDelivered'>): void {
    const at = this.#now();
    this.#add({ kind: 'reply_delivered', at, channel, id, message, attempt, totalMs });
  }

  deliveryFailed({ channel, id, message, attempt, failure, nextAt }: Of<'deliveryFailed'>): void {
    const { kind, whose, status } = failure;
    const why = { failure: kind, whose, status };
    this.#add({
      kind: 'delivery_failed',
      at: this.#now(),
      channel,
      id,
      message,
      attempt,
      ...why,
      nextAt,
    });
  }

  buried({ box, channel, id, failure: { kind, whose, status } }: Of<'buried'>): void {
    const why = { failure: kind, whose, status };
    this.#add({ kind: 'dead_letter', at: this.#now(), box, channel, id, ...why });
  }

  channelChanged({ channel, state, reason }: Of<'channelChanged'>): void {
    this.#add({ kind: 'channel_changed', at: this.#now(), channel, state, reason });
  }

  configUsed({ revision, channels, brains }: Of<'configUsed'>): void {
    this.#add({ kind: 'plan_used', at: this.#now(), revision, channels, brains });
  }

  /**
   * Leaves out the warning's sentence: it may hold a path of this machine, or a piece of the file.
   */
  warned({ code, path }: Of<'warned'>): void {
    this.#add({ kind: 'warned', at: this.#now(), code, path: path ?? null });
  }

  /** Leaves out the target of the write: it may name a conversation or a sender. */
  operatorWrote({ action, status }: Of<'operatorWrote'>): void {
    this.#add({ kind: 'operator_wrote', at: this.#now(), action, status });
  }

  #add(unnamed: Unnamed<LiveEvent>): void {
    const liveEvent = Object.assign(unnamed, { instance: this.#ownInstance() }) as LiveEvent;
    this.hear(liveEvent);
    this.#ownListener?.(liveEvent);
  }
}
