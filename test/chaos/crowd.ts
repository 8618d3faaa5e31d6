/**
 * The records outside of the process: people send one message after the other, repeat each with the
 * same `webhook-id` until they get a 200, and record every 200.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { post } from '../support/program.ts';

/** One request, however it ended; `status` null: no answer, for the reason `fault`. */
export type Tried = {
  readonly url: string;
  readonly startedAt: number;
  readonly ms: number;
  readonly status: number | null;
  readonly fault: string | null;
};

/** `beganAt` and `acceptedAt`: the first try, and the first 200; milliseconds since 1970. */
export type Said = {
  readonly text: string;
  readonly id: string;
  /** The command before the text, with a space behind it; empty: there is none. */
  readonly command: string;
  readonly beganAt: number;
  readonly acceptedAt: number;
};

/** A new conversation begins after this many messages, so that no history grows for ever. */
const linesOfConversation = 30;
const betweenTriesMs = 25;

export class Crowd {
  /** By conversation, in the order of the 200s. */
  readonly accepted = new Map<string, Said[]>();
  /** Second 200s for one message, and those of them with another id. */
  resends = 0;
  secondIds = 0;
  /** Other statuses than 200, with their counts. */
  readonly refusals = new Map<number, number>();
  /** Called at each message's first 200. */
  onAccepted: (id: string) => void = () => {};
  onTried: (tried: Tried) => void = () => {};
  /** The command before the next message's text. */
  commandNext: () => string = () => '';
  /** The address for all later messages. */
  url: string;
  /** The longest pause of a person between two messages. */
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

  /** Everybody ends once the message under way has its 200. */
  async end(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#speaking);
  }

  /** Everybody ends at once, even without a 200. */
  leave(): void {
    this.#over = true;
    this.#left = true;
  }

  get messages(): readonly Said[] {
    return [...this.accepted.values()].flat();
  }

  /** Resolves at the next 200. */
  next200(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #speak(speaker: number): Promise<void> {
    for (let number = 0; !this.#over; number++) {
      const conversation = `c${speaker}.${Math.floor(number / linesOfConversation)}`;
      const said = this.accepted.get(conversation) ?? [];
      this.accepted.set(conversation, said);
      const text = `${conversation} ${number % linesOfConversation}`;
      const command = this.commandNext();
      const beganAt = Date.now();
      const id = await this.#say(conversation, text, command);
      if (id === null) return;
      this.onAccepted(id);
      said.push({ text, id, command, beganAt, acceptedAt: Date.now() });
      for (const wake of this.#waiting.splice(0)) wake();
      if (this.#random() < 0.05) await this.#sayAgain(said.at(-1)!, conversation);
      await pause(this.#random() * this.pauseMs);
    }
  }

  /** @returns the id; null: the crowd left before the 200 */
  async #say(conversation: string, text: string, command: string): Promise<string | null> {
    while (!this.#left) {
      const id = await this.#try(conversation, text, command);
      if (id !== null) return id;
      await pause(betweenTriesMs);
    }
    return null;
  }

  async #sayAgain({ text, id: first, command }: Said, conversation: string): Promise<void> {
    const id = await this.#try(conversation, text, command);
    if (id === null) return;
    this.resends++;
    if (id !== first) this.secondIds++;
  }

  async #try(conversation: string, text: string, command: string): Promise<string | null> {
    const message = { sender_id: conversation, text: `${command}${text}` };
    const { url } = this;
    const startedAt = performance.now();
    const report = (status: number | null, fault: string | null): void =>
      this.onTried({ url, startedAt, ms: performance.now() - startedAt, status, fault });
    const answer = await post(url, message, { 'webhook-id': text }).catch((error: unknown) => {
      report(null, faultOf(error));
      return null;
    });
    if (answer === null) return null;
    const { status, body } = answer;
    report(status, null);
    if (status === 200) return String(body['message_id']);
    this.refusals.set(status, (this.refusals.get(status) ?? 0) + 1);
    return null;
  }
}

/** The system's error code, which fetch reports as the cause. */
function faultOf(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown } }).cause;
  return typeof cause?.code === 'string' ? cause.code : 'unknown';
}
