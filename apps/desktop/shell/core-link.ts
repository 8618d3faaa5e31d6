/** The shell's end of the connection to the core: what is asked of it, and its answers. */
import type { FromCore, ToCore } from '../desktop.ts';
import type { Connection } from '../lines.ts';

type Answer = Extract<FromCore, { readonly question: number }>;
type Waiting = (answer: Answer | null) => void;

/** It is of this machine, and has the answer at hand. */
const answerMs = 5_000;

export class CoreLink {
  readonly #answerMs: number;
  #connection: Connection<ToCore> | null = null;
  #asked = 0;
  readonly #waiting = new Map<number, Waiting>();

  constructor(waitMs = answerMs) {
    this.#answerMs = waitMs;
  }

  get isConnected(): boolean {
    return this.#connection !== null;
  }

  /** A newer connection takes the place of the one before. */
  attach(connection: Connection<ToCore>): void {
    this.lost(this.#connection);
    this.#connection = connection;
  }

  /** What was asked on it is answered by nobody any more. */
  lost(connection: Connection<ToCore> | null): void {
    if (connection === null || connection !== this.#connection) return;
    this.#connection = null;
    for (const answer of this.#waiting.values()) answer(null);
  }

  answered(answer: Answer): void {
    this.#waiting.get(answer.question)?.(answer);
  }

  /** The address of a page with a code for one use; null: there is nobody to ask. */
  async offer(): Promise<string | null> {
    const answer = await this.#ask('offer');
    return answer?.kind === 'offered' ? answer.url : null;
  }

  /** A token for a page of a window of its own; null also where the core is read-only. */
  async grant(): Promise<string | null> {
    const answer = await this.#ask('grant');
    return answer?.kind === 'granted' ? answer.token : null;
  }

  /** Lost where there is no connection. */
  send(message: ToCore): void {
    this.#connection?.send(message);
  }

  #ask(kind: 'offer' | 'grant'): Promise<Answer | null> {
    if (this.#connection === null) return Promise.resolve(null);
    const question = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<Answer | null>();
    const timer = setTimeout(() => settle(null), this.#answerMs);
    const settle = (answer: Answer | null): void => {
      clearTimeout(timer);
      this.#waiting.delete(question);
      resolve(answer);
    };
    this.#waiting.set(question, settle);
    this.#connection.send({ kind, question });
    return promise;
  }
}
