/** How a reply is delivered where it answers an edit, or something of it is shown already. */
import { isFirstPart, type Reply } from '../../domain/reply.ts';
import type { RecentQuestions } from './recent-questions.ts';

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
export type Revision = {
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
