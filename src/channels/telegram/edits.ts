/** Which edits Telegram is asked for, and which of them go to the ledger. */
import type { RecentQuestions } from '../messenger/recent-questions.ts';
import type { Update } from './wire.ts';

const updateTypes = ['message', 'callback_query'] as const;
const withEdits = [...updateTypes, 'edited_message'] as const;

/** What the platform is asked for: it goes by the last time that it was. */
export function updateTypesOf(questions: RecentQuestions | null) {
  return questions === null ? updateTypes : withEdits;
}

/** The updates as they go to the ledger: an edit that is not to be asked says nothing. */
export function heeded(
  updates: readonly Update[],
  questions: RecentQuestions | null,
): readonly Update[] {
  if (questions === null) return updates;
  return updates.map((update) => {
    const { message, edits, press } = update;
    if (message === null || press !== undefined) return update;
    return questions.heeds(message.dedupeKey, message, edits)
      ? update
      : { ...update, message: null };
  });
}
