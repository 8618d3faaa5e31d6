/** Rows of buttons: https://core.telegram.org/bots/api#inlinekeyboardmarkup. Pure. */
import type { Choice } from '../../domain/reply.ts';

export type Rows = readonly (readonly Choice[])[];

/** The field of a message with these buttons; none without them. */
export function markupOf(rows: Rows) {
  if (rows.length === 0) return {};
  const inline_keyboard = rows.map((row) =>
    row.map(({ label, says }) => ({ text: label, callback_data: says })),
  );
  return { reply_markup: { inline_keyboard } };
}

/** Rows of a message's `reply_markup`; what is none of svc's buttons is left out. */
export function rowsIn(markup: unknown): Rows {
  const { inline_keyboard: rows } = (markup ?? {}) as { inline_keyboard?: unknown };
  if (!Array.isArray(rows)) return [];
  return rows.map((row: unknown) => (Array.isArray(row) ? row.flatMap(choiceOf) : []));
}

function choiceOf(button: unknown): readonly Choice[] {
  const { text, callback_data: says } = (button ?? {}) as Record<string, unknown>;
  return typeof text === 'string' && typeof says === 'string' ? [{ label: text, says }] : [];
}
