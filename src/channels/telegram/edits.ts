/**
 * Edits of questions (https://core.telegram.org/bots/api#update, `edited_message`): an edit soon
 * after its message is a message of its own, whose address says which question it changes.
 */
import { editMsMax, type RecentQuestions } from '../messenger/recent-questions.ts';
import type { Wire } from './fields.ts';
import { parseTarget, targetOf } from './place.ts';
import type { Heard, Update } from './wire.ts';

/** @param heard what the edited message says; null: nothing that svc answers */
export function asEdit(wire: Wire, heard: Heard | null): Pick<Update, 'message' | 'edits'> {
  const [saidAt, editedAt] = [wire['date'], wire['edit_date']];
  if (heard === null || typeof saidAt !== 'number' || typeof editedAt !== 'number') return nothing;
  if ((editedAt - saidAt) * 1_000 > editMsMax) return nothing;
  const target = parseTarget(heard);
  const number = wire['message_id'];
  if (target === null || typeof number !== 'number') return nothing;
  const { dedupeKey: edits } = heard;
  const message = {
    ...heard,
    target: targetOf({ ...target, edits: number }),
    dedupeKey: `edit:${edits}`,
    apart: 'edit' as const,
    edits,
  };
  return { message, edits };
}

const nothing = { message: null } as const;

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
