/** Which updates svc asks Telegram for, and which edits go to the ledger. */
import type { RecentQuestions } from '../messenger/recent-questions.ts';
import type { Update } from './wire.ts';

const updateTypes = ['message', 'callback_query'] as const;
const withEdits = [...updateTypes, 'edited_message'] as const;

/** The types of updates to ask for. Telegram keeps the types of the last request. */
export function updateTypesOf(questions: RecentQuestions | null) {
  return questions === null ? updateTypes : withEdits;
}

/** Drops the message of each edit that svc must not ask again. */
export function withoutIgnoredEdits(
  updates: readonly Update[],
  questions: RecentQuestions | null,
): readonly Update[] {
  if (questions === null) return updates;
  return updates.map((update) => {
    const { message, edits, press } = update;
    if (message === null || press !== undefined) return update;
    return questions.admits(message.dedupeKey, message, edits)
      ? update
      : { ...update, message: null };
  });
}
