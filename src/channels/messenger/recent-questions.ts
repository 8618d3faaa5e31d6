/**
 * What a messenger that heeds edits knows of the last questions, in memory alone: who asked what,
 * and which messages of the platform answer it. So an edit is asked again once, and its answer
 * becomes the message of the first one. After a restart nothing is known, and no edit is asked.
 *
 * Nor is that of a message which may have been answered together with others: the answer is theirs
 * as well. Which were joined the ledger alone knows; here it goes by the time between them.
 */
import type { MessageId } from '../../domain/ids.ts';
import { apartMs, type Inbound, type PlatformTime } from '../../domain/message.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Receipt } from '../channel.ts';
import { isFirstPart, type Reply } from '../../domain/reply.ts';

/** How long after a message its edit is asked, by the platform's clock. */
export const editMsMax = 120_000;

/** Longer than an edit may take, so that an answer that took minutes is known to it. */
const keptMs = 600_000;
const questionsMax = 1_000;
const messagesMax = 100;

/**
 * Where the platform does not tell when something was said: what comes here further apart than
 * `gather_ms` may come to the ledger a little closer.
 */
const nearerMs = 1_000;

/** What of a message it is known by. */
type Asked = Pick<Inbound, 'conversation' | 'sender' | 'text' | 'gather' | 'saidAt'>;

type Question = {
  /** The conversation and the sender. */
  readonly who: string;
  readonly text: string;
  readonly saidAt: PlatformTime | undefined;
  /** When it last went to the ledger, which may have refused it before. */
  at: SteadyTime;
  /** It may be one message with another. */
  isJoined: boolean;
  /** Null: it is on its way into the ledger. */
  id: MessageId | null;
  isEdited: boolean;
  /** The platform's messages, in their order. */
  readonly answer: string[];
};

export class RecentQuestions {
  readonly #steady: () => SteadyTime;
  readonly #gatherMs: number;
  /** By the platform's own name of the message, the oldest first. */
  readonly #questions = new Map<string, Question>();
  readonly #byId = new Map<MessageId, Question>();
  /** By who said it. */
  readonly #last = new Map<string, Question>();

  /** @param gatherMs as the channel is configured; 0: albums alone are joined */
  constructor(steady: () => SteadyTime, gatherMs: number) {
    this.#steady = steady;
    this.#gatherMs = gatherMs;
  }

  /**
   * A message or an edit is about to go to the ledger; an edit may come with its message.
   * @param edits the message that it changes; undefined: it is a message itself
   * @returns whether it is to go
   */
  heeds(name: string, asked: Asked, edits?: string): boolean {
    if (edits !== undefined) return this.#isAsked(edits, asked);
    this.#said(name, asked);
    return true;
  }

  /** What became of it. @param receipt null: the gate turned it away, and so is its edit */
  became(name: string, edits: string | undefined, receipt: Pick<Receipt, 'id'> | null): void {
    const question = this.#questions.get(edits ?? name);
    if (question === undefined) return;
    if (edits !== undefined) {
      // There is no other edit.
      if (receipt !== null) question.isEdited = true;
      return;
    }
    if (receipt === null) return this.#drop(name, question);
    question.id = receipt.id;
    this.#byId.set(receipt.id, question);
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

  #said(name: string, asked: Asked): void {
    if (asked.gather?.kind === 'album') return;
    const question = this.#questions.get(name) ?? this.#add(name, asked);
    question.at = this.#steady();
    const before = this.#last.get(question.who);
    this.#last.set(question.who, question);
    if (this.#gatherMs === 0 || before === undefined || before === question) return;
    if (leastApartMs(before, question) > this.#gatherMs) return;
    before.isJoined = true;
    question.isJoined = true;
  }

  /** The first edit, by the same person, that changes the text. */
  #isAsked(name: string, asked: Asked): boolean {
    const question = this.#questions.get(name);
    if (question === undefined || question.isEdited || question.isJoined) return false;
    return question.who === whoseIs(asked) && question.text !== asked.text;
  }

  #add(name: string, asked: Asked): Question {
    this.#forget();
    const { text, saidAt } = asked;
    const [who, at] = [whoseIs(asked), this.#steady()];
    const isNew = { id: null, isJoined: false, isEdited: false } as const;
    const question: Question = { who, text, saidAt, at, ...isNew, answer: [] };
    this.#questions.set(name, question);
    return question;
  }

  #drop(name: string, question: Question): void {
    this.#questions.delete(name);
    if (question.id !== null) this.#byId.delete(question.id);
    if (this.#last.get(question.who) === question) this.#last.delete(question.who);
  }

  #forget(): void {
    const oldest = this.#steady() - keptMs;
    for (const [name, question] of this.#questions) {
      if (question.at > oldest && this.#questions.size < questionsMax) return;
      this.#drop(name, question);
    }
  }
}

function whoseIs({ conversation, sender }: Asked): string {
  return `${conversation} ${sender.id}`;
}

function leastApartMs(before: Question, question: Question): number {
  if (before.saidAt === undefined || question.saidAt === undefined) {
    return question.at - before.at - nearerMs;
  }
  return apartMs(before.saidAt, question.saidAt);
}

// How a reply is delivered where it answers an edit, or something of it is shown already.

/**
 * The messages of the first answer, in their order, where an edit is answered.
 * @param questions null: edits are not heeded
 * @param edits the question whose edit is answered, by the platform's name; null: none
 */
export function formerAnswer(
  questions: RecentQuestions | null,
  edits: string | null,
): readonly string[] {
  return edits === null ? [] : (questions?.answerTo(edits) ?? []);
}

/** How one reply is delivered where something of it may be shown already. */
type Revision = {
  /** It replaces the first answer, where it answers an edit. An apology leaves that alone. */
  readonly reply: Reply;
  /**
   * It was delivered, as that message of the platform; null: nobody knows which.
   * @returns messages that it has made needless
   */
  readonly delivered: (message: string | null) => readonly string[];
};

/** @param edits the question whose edit the reply answers, as of `formerAnswer` */
export function revise(
  questions: RecentQuestions | null,
  reply: Reply,
  edits: string | null,
): Revision {
  const isAgain = edits !== null && isFirstPart(reply);
  const former = isAgain && !reply.isApology ? formerAnswer(questions, edits) : [];
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

/** Tells what comes for the first time, as far as it remembers: the last thousand. */
export class FirstSeen {
  readonly #known = new Set<string>();

  isFirst(key: string): boolean {
    if (this.#known.has(key)) return false;
    this.#known.add(key);
    const [oldest] = this.#known;
    if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest);
    return true;
  }
}

const knownMax = 1_000;
