/**
 * The ledger outside of the process: people who say one thing after the other, say it again with
 * the same `webhook-id` until they get a 200, and write down every 200.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { post } from '../support/program.ts';

/** One request, however it ended; `status` null: without an answer, for the reason `fault`. */
export type Tried = {
  readonly url: string;
  readonly startedAt: number;
  readonly ms: number;
  readonly status: number | null;
  readonly fault: string | null;
};

export type Said = { readonly text: string; readonly id: string };

/** A new conversation now and then, so that no history grows for ever. */
const linesOfConversation = 30;
const betweenTriesMs = 25;

export class Crowd {
  /** By conversation, in the order in which the 200s came. */
  readonly accepted = new Map<string, Said[]>();
  /** 200s of messages that had had one, and the ids in them that were other ones. */
  resends = 0;
  secondIds = 0;
  /** What was answered besides 200. */
  readonly refusals = new Map<number, number>();
  /** Is told of every first 200 in its moment. */
  onAccepted: (id: string) => void = () => {};
  onTried: (tried: Tried) => void = () => {};
  /** Where everybody speaks from now on. */
  url: string;
  /** How long people pause at most between two messages. */
  pauseMs: number;
  #over = false;
  #left = false;
  #speaking: Promise<void>[] = [];
  #waiting: (() => void)[] = [];
  readonly #random: () => number;

  constructor(url: string, random: () => number, pauseMs: number) {
    this.url = url;
    this.#random = random;
    this.pauseMs = pauseMs;
  }

  begin(speakers: number): void {
    for (let i = 0; i < speakers; i++) this.#speaking.push(this.#speak(i));
  }

  /** Everybody ends once what they were saying has its 200. */
  async end(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#speaking);
  }

  /** Nobody says anything more, whatever was not yet accepted. */
  leave(): void {
    this.#over = true;
    this.#left = true;
  }

  get messages(): readonly Said[] {
    return [...this.accepted.values()].flat();
  }

  /** Resolves in the moment of the next 200. */
  next200(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #speak(speaker: number): Promise<void> {
    for (let number = 0; !this.#over; number++) {
      const conversation = `c${speaker}.${Math.floor(number / linesOfConversation)}`;
      const said = this.accepted.get(conversation) ?? [];
      this.accepted.set(conversation, said);
      const text = `${conversation} ${number % linesOfConversation}`;
      const id = await this.#say(conversation, text);
      if (id === null) return;
      this.onAccepted(id);
      said.push({ text, id });
      for (const wake of this.#waiting.splice(0)) wake();
      if (this.#random() < 0.05) await this.#sayAgain(conversation, text, id);
      await pause(this.#random() * this.pauseMs);
    }
  }

  /** @returns null: it has left before its 200 */
  async #say(conversation: string, text: string): Promise<string | null> {
    while (!this.#left) {
      const id = await this.#try(conversation, text);
      if (id !== null) return id;
      await pause(betweenTriesMs);
    }
    return null;
  }

  async #sayAgain(conversation: string, text: string, first: string): Promise<void> {
    const id = await this.#try(conversation, text);
    if (id === null) return;
    this.resends++;
    if (id !== first) this.secondIds++;
  }

  async #try(conversation: string, text: string): Promise<string | null> {
    const message = { sender_id: conversation, text };
    const { url } = this;
    const startedAt = performance.now();
    const told = (status: number | null, fault: string | null): void =>
      this.onTried({ url, startedAt, ms: performance.now() - startedAt, status, fault });
    const answer = await post(url, message, { 'webhook-id': text }).catch((error: unknown) => {
      told(null, faultOf(error));
      return null;
    });
    if (answer === null) return null;
    const { status, body } = answer;
    told(status, null);
    if (status === 200) return String(body['message_id']);
    this.refusals.set(status, (this.refusals.get(status) ?? 0) + 1);
    return null;
  }
}

/** The system's code, which fetch tells as the cause. */
function faultOf(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown } }).cause;
  return typeof cause?.code === 'string' ? cause.code : 'unknown';
}
