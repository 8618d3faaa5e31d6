/** One conversation with one brain, remembered for as long as the command runs. */
import type { Brain } from '../brain/brain.ts';
import type { BrainConfig, ChannelType, Secrets } from '../config/config.ts';
import { fitWindow, linesOf, type TurnRow } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import { createIdSource, type ChannelKey, type ConversationId } from '../domain/ids.ts';
import type { Note } from '../domain/note.ts';
import type { TraceStep } from '../domain/trace.ts';
import { createEvents } from '../events.ts';
import type { HttpClient } from '../lib/http-client.ts';
import type { Log } from '../lib/log.ts';
import { createBrain, createModel, createRehearsalDesk, createServiceKit } from '../service.ts';

export type Answer = {
  readonly decision: Decision;
  readonly steps: readonly TraceStep[];
  readonly ms: number;
};

export interface Session extends AsyncDisposable {
  /** Asks the brain; what it decided is remembered, unless the signal aborted it. */
  ask(text: string, signal: AbortSignal): Promise<Answer>;
  /** Forgets everything said so far. */
  startAfresh(): void;
}

export function openSession(
  config: BrainConfig,
  secrets: Secrets,
  log: Log,
  { channel, version }: { readonly channel: ChannelType | null; readonly version: string },
): Session {
  const kit = createServiceKit(createEvents({ log, now: Date.now }), version);
  const models = config.models.map((model) => createModel(model, secrets, kit));
  const looks =
    config.sensitivity === 'public'
      ? []
      : models
          .filter(({ locality }) => locality === 'local')
          .map((model) => model.check(kit.now() + lookMs));
  const brain = createBrain(config, secrets, kit, models);
  const key = (channel ?? 'console') as ChannelKey;
  return new BrainSession(brain, key, kit.http, Promise.all(looks));
}

/** How long the first question of a private brain waits to hear whether its model is local. */
const lookMs = 2_000;

const conversation = 'console' as ConversationId;
const sender = { id: 'console', name: null };

class BrainSession implements Session {
  readonly #brain: Brain;
  readonly #channel: ChannelKey;
  readonly #http: HttpClient;
  readonly #ids = createIdSource(Date.now, (bytes) => void crypto.getRandomValues(bytes));
  readonly #looked: Promise<unknown>;
  readonly #notes: Note[] = [];
  #turns: readonly TurnRow[] = [];

  /** @param looked what it tells the models is remembered by them; it never rejects */
  constructor(brain: Brain, channel: ChannelKey, http: HttpClient, looked: Promise<unknown>) {
    this.#brain = brain;
    this.#channel = channel;
    this.#http = http;
    this.#looked = looked;
  }

  async ask(text: string, signal: AbortSignal): Promise<Answer> {
    await this.#looked;
    const at = Date.now();
    const id = this.#ids.message();
    const channel = this.#channel;
    const address = { channel, target: '' };
    const message = { id, channel, conversation, sender, text, media: null, address };
    const desk = createRehearsalDesk(signal, at + this.#brain.deadlineMs, this.#notes);
    const decision = await this.#brain.think(
      { message: { ...message, acceptedAt: at }, text, history: linesOf(this.#turns) },
      desk,
    );
    if (!signal.aborted) {
      const reply = decision.kind === 'reply' ? decision.text : null;
      this.#turns = fitWindow([...this.#turns, { at, text, reply }]);
    }
    return { decision, steps: desk.steps, ms: Date.now() - at };
  }

  startAfresh(): void {
    this.#turns = [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http.close();
  }
}
