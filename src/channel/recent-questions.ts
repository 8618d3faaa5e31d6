/**
 * What a messenger that heeds edits knows of the last questions, in memory alone: who asked what,
 * and which messages of the platform answer it. So an edit is asked again once, and its answer
 * becomes the message of the first one. After a restart nothing is known, and no edit is asked.
 */
import type { MessageId } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import { isFirstPart, type Reply } from '../domain/reply.ts';
import type { SteadyTime } from '../lib/clock.ts';

/** How long after a message its edit is asked, by the platform's clock. */
export const editMsMax = 120_000;

/** Longer than an edit may take, so that an answer that took minutes is known to it. */
const keptMs = 600_000;
const questionsMax = 1_000;
const messagesMax = 100;

type Said = Pick<Inbound, 'sender' | 'text'>;

type Question = {
  readonly sender: string;
  readonly text: string;
  readonly at: SteadyTime;
  /** Null: it is on its way into the ledger. */
  id: MessageId | null;
  isEdited: boolean;
  /** The platform's messages, in their order. */
  readonly answer: string[];
};

export class RecentQuestions {
  readonly #steady: () => SteadyTime;
  /** By the platform's own name of the message, the oldest first. */
  readonly #questions = new Map<string, Question>();
  readonly #byId = new Map<MessageId, Question>();

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  /** A message goes to the ledger: an edit of it may come with it. */
  said(name: string, { sender, text }: Said): void {
    if (this.#questions.has(name)) return;
    this.#forget();
    const at = this.#steady();
    const question = { sender: sender.id, text, at, id: null, isEdited: false, answer: [] };
    this.#questions.set(name, question);
  }

  /** What became of it; null: it was turned away, and so is its edit. */
  settled(name: string, id: MessageId | null): void {
    const question = this.#questions.get(name);
    if (question === undefined) return;
    if (id === null) return this.#drop(name, question);
    question.id = id;
    this.#byId.set(id, question);
  }

  /** Whether that edit is to be asked: the first one, by the same person, that changes the text. */
  isAsked(name: string, { sender, text }: Said): boolean {
    const question = this.#questions.get(name);
    if (question === undefined || question.isEdited) return false;
    return question.sender === sender.id && question.text !== text;
  }

  /** Its edit was taken: there is no other. */
  edited(name: string): void {
    const question = this.#questions.get(name);
    if (question !== undefined) question.isEdited = true;
  }

  answered(id: MessageId, message: string): void {
    const answer = this.#byId.get(id)?.answer;
    if (answer === undefined || answer.length >= messagesMax || answer.includes(message)) return;
    answer.push(message);
  }

  /** The platform's messages that answer it, in their order. */
  answerTo(name: string): readonly string[] {
    return this.#questions.get(name)?.answer ?? [];
  }

  /** Nothing of it is needed any more. */
  done(name: string): void {
    const question = this.#questions.get(name);
    if (question !== undefined) this.#drop(name, question);
  }

  #drop(name: string, { id }: Question): void {
    this.#questions.delete(name);
    if (id !== null) this.#byId.delete(id);
  }

  #forget(): void {
    const oldest = this.#steady() - keptMs;
    for (const [name, question] of this.#questions) {
      if (question.at > oldest && this.#questions.size < questionsMax) return;
      this.#drop(name, question);
    }
  }
}

/** How one reply is delivered where something of it may be shown already. */
export type Revision = {
  /** It replaces the first answer, where it answers an edit. */
  readonly reply: Reply;
  /**
   * It was delivered, as that message of the platform; null: nobody knows which.
   * @returns messages that it has made needless
   */
  readonly delivered: (message: string | null) => readonly string[];
};

/**
 * @param questions null: edits are not heeded
 * @param edits the question whose edit the reply answers, by the platform's name; null: none
 */
export function revise(
  questions: RecentQuestions | null,
  reply: Reply,
  edits: string | null,
): Revision {
  const isAgain = edits !== null && isFirstPart(reply);
  const former = isAgain ? (questions?.answerTo(edits) ?? []) : [];
  const replaces = reply.replaces ?? former[0];
  return {
    reply: replaces === undefined ? reply : { ...reply, replaces },
    delivered(message) {
      if (isAgain) questions?.done(edits);
      if (message === null) return [];
      questions?.answered(reply.inReplyTo, message);
      const shown = replaces === undefined ? former : [replaces, ...former];
      return [...new Set(shown)].filter((one) => one !== message);
    },
  };
}
