/**
 * The last questions on a messenger that handles edits: who asked them, and which messages of the
 * platform answer them. An edit is asked again once, and its answer replaces the first one. All of
 * this is in memory: after a restart no edit is asked.
 *
 * An edit is not asked if its message may have been merged with others, since the answer is theirs
 * as well. Only the ledger knows which messages it merged. This file judges by the time between
 * them.
 */
import type { MessageId } from '../../domain/ids.ts';
import { apartMs, type Inbound, type PlatformTime } from '../../domain/message.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Receipt } from '../channel.ts';
import { isFirstPart, type Reply } from '../../domain/reply.ts';

/** How long after its message an edit is asked, by the platform's clock. */
export const editMsMax = 120_000;

/** Longer than `editMsMax`, so that a slow answer still finds its question. */
const retentionMs = 600_000;
const questionsMax = 1_000;
const messagesMax = 100;

/**
 * Used if the platform does not report times. Two messages that arrive here more than `gather_ms`
 * apart may reach the ledger a little closer together.
 */
const arrivalSlackMs = 1_000;

/** The fields that identify a question. */
type QuestionFacts = Pick<Inbound, 'conversation' | 'sender' | 'text' | 'gather' | 'saidAt'>;

type Question = {
  /** The conversation and the sender. */
  readonly author: string;
  readonly text: string;
  readonly saidAt: PlatformTime | undefined;
  /** When it last went to the ledger; the ledger may have refused it before. */
  at: SteadyTime;
  /** The ledger may have merged it with another message. */
  isMerged: boolean;
  /** Null: the ledger has not accepted it yet. */
  id: MessageId | null;
  isEdited: boolean;
  /** The messages of the platform that answer it, in their order. */
  readonly answer: string[];
};

export class RecentQuestions {
  readonly #steady: () => SteadyTime;
  readonly #gatherMs: number;
  /** By the platform's name of the message, the oldest first. */
  readonly #questions = new Map<string, Question>();
  readonly #byId = new Map<MessageId, Question>();
  /** The last question of each person in each conversation. */
  readonly #last = new Map<string, Question>();

  /** @param gatherMs the channel's setting; 0: only albums are merged */
  constructor(steady: () => SteadyTime, gatherMs: number) {
    this.#steady = steady;
    this.#gatherMs = gatherMs;
  }

  /**
   * Called before a message or an edit goes to the ledger; both may be in one batch.
   * @param edits the message that it changes; undefined: it is no edit
   * @returns whether it goes to the ledger
   */
  admits(name: string, facts: QuestionFacts, edits?: string): boolean {
    if (edits !== undefined) return this.#isFirstEdit(edits, facts);
    this.#note(name, facts);
    return true;
  }

  /**
   * Notes the ledger's answer.
   * @param receipt null: the gate turned the message away, so its edit is turned away, too
   */
  noteReceipt(name: string, edits: string | undefined, receipt: Pick<Receipt, 'id'> | null): void {
    const question = this.#questions.get(edits ?? name);
    if (question === undefined) return;
    if (edits !== undefined) {
      // Only the first edit counts.
      if (receipt !== null) question.isEdited = true;
      return;
    }
    if (receipt === null) return this.#drop(name, question);
    question.id = receipt.id;
    this.#byId.set(receipt.id, question);
  }

  addAnswer(id: MessageId, message: string): void {
    const answer = this.#byId.get(id)?.answer;
    if (answer === undefined || answer.length >= messagesMax || answer.includes(message)) return;
    answer.push(message);
  }

  /** The messages of the platform that answer the question, in their order. */
  answerTo(name: string): readonly string[] {
    return this.#questions.get(name)?.answer ?? [];
  }

  /** Forgets the question. */
  done(name: string): void {
    const question = this.#questions.get(name);
    if (question !== undefined) this.#drop(name, question);
  }

  #note(name: string, facts: QuestionFacts): void {
    if (facts.gather?.kind === 'album') return;
    const question = this.#questions.get(name) ?? this.#add(name, facts);
    question.at = this.#steady();
    const before = this.#last.get(question.author);
    this.#last.set(question.author, question);
    if (this.#gatherMs === 0 || before === undefined || before === question) return;
    if (leastApartMs(before, question) > this.#gatherMs) return;
    before.isMerged = true;
    question.isMerged = true;
  }

  /** True for the first edit by the same person that changes the text. */
  #isFirstEdit(name: string, facts: QuestionFacts): boolean {
    const question = this.#questions.get(name);
    if (question === undefined || question.isEdited || question.isMerged) return false;
    return question.author === authorKeyOf(facts) && question.text !== facts.text;
  }

  #add(name: string, facts: QuestionFacts): Question {
    this.#expire();
    const { text, saidAt } = facts;
    const author = authorKeyOf(facts);
    const at = this.#steady();
    const isNew = { id: null, isMerged: false, isEdited: false } as const;
    const question: Question = { author, text, saidAt, at, ...isNew, answer: [] };
    this.#questions.set(name, question);
    return question;
  }

  #drop(name: string, question: Question): void {
    this.#questions.delete(name);
    if (question.id !== null) this.#byId.delete(question.id);
    if (this.#last.get(question.author) === question) this.#last.delete(question.author);
  }

  #expire(): void {
    const oldest = this.#steady() - retentionMs;
    for (const [name, question] of this.#questions) {
      if (question.at > oldest && this.#questions.size < questionsMax) return;
      this.#drop(name, question);
    }
  }
}

function authorKeyOf({ conversation, sender }: QuestionFacts): string {
  return `${conversation} ${sender.id}`;
}

function leastApartMs(before: Question, question: Question): number {
  if (before.saidAt === undefined || question.saidAt === undefined) {
    return question.at - before.at - arrivalSlackMs;
  }
  return apartMs(before.saidAt, question.saidAt);
}

// How svc delivers a reply to an edit, or a reply that is partly shown already.

/**
 * The messages of the first answer, in their order, if the reply answers an edit.
 * @param questions null: the channel ignores edits
 * @param edits the platform's name of the edited question; null: no edit
 */
export function formerAnswer(
  questions: RecentQuestions | null,
  edits: string | null,
): readonly string[] {
  return edits === null ? [] : (questions?.answerTo(edits) ?? []);
}

/** How svc delivers one reply that may be partly shown already. */
type Revision = {
  /**
   * The reply with `replaces`, if it answers an edit. An apology does not replace the first answer.
   */
  readonly reply: Reply;
  /**
   * Notes that the reply was delivered.
   * @param message the platform's message that shows it; null: unknown
   * @returns messages that the reply has made needless
   */
  readonly delivered: (message: string | null) => readonly string[];
};

/** @param edits the edited question that the reply answers, as in `formerAnswer` */
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
      questions?.addAnswer(reply.inReplyTo, message);
      const shown = replaces === undefined ? former : [replaces, ...former];
      return [...new Set(shown)].filter((one) => one !== message);
    },
  };
}

/** Recognises keys that come for the first time; it remembers the last thousand. */
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
