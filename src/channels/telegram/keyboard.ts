/** Rows of buttons: https://core.telegram.org/bots/api#inlinekeyboardmarkup. Pure. */
import type { Choice } from '../../domain/reply.ts';

export type Rows = readonly (readonly Choice[])[];

/** The `reply_markup` field of a message; no field without buttons. */
export function markupOf(rows: Rows) {
  if (rows.length === 0) return {};
  const inline_keyboard = rows.map((row) =>
    row.map(({ label, says }) => ({ text: label, callback_data: says })),
  );
  return { reply_markup: { inline_keyboard } };
}

/** The rows of a message's `reply_markup`, without buttons that are not svc's. */
export function rowsIn(markup: unknown): Rows {
  const { inline_keyboard: rows } = (markup ?? {}) as { inline_keyboard?: unknown };
  if (!Array.isArray(rows)) return [];
  return rows.map((row: unknown) => (Array.isArray(row) ? row.flatMap(choiceOf) : []));
}

function choiceOf(button: unknown): readonly Choice[] {
  const { text, callback_data: says } = (button ?? {}) as Record<string, unknown>;
  return typeof text === 'string' && typeof says === 'string' ? [{ label: text, says }] : [];
}
