/**
 * Buttons for the answers that a person can give by a press. If a platform would refuse one of
 * them, the message has no buttons: its text names the words to write.
 */
import type { Choice } from '../../domain/reply.ts';

/** Rows of buttons. */
export type Rows = readonly (readonly Choice[])[];

/** The limits of a platform. */
export type ButtonLimits = {
  readonly labelUnitsMax: number;
  readonly saysBytesMax: number;
};

const rowMax = 2;
/** Each platform allows more. */
const choicesMax = 10;

/** @returns rows of two buttons each; no rows if the platform would refuse one of the buttons */
export function rowsOf(
  choices: readonly Choice[] | undefined,
  { labelUnitsMax, saysBytesMax }: ButtonLimits,
): Rows {
  if (choices === undefined || choices.length > choicesMax) return [];
  const fits = ({ label, says }: Choice): boolean =>
    label !== '' &&
    label.length <= labelUnitsMax &&
    says !== '' &&
    Buffer.byteLength(says) <= saysBytesMax;
  if (!choices.every(fits)) return [];
  if (new Set(choices.map(({ says }) => says)).size < choices.length) return [];
  const rows: Choice[][] = [];
  for (let at = 0; at < choices.length; at += rowMax) rows.push(choices.slice(at, at + rowMax));
  return rows;
}

/** The rows that stay after a press. A row is one question; the other questions are still open. */
export function rowsWithout(says: string, rows: Rows): Rows {
  return rows.filter((row) => row.length > 0 && row.every((one) => one.says !== says));
}

/** The commands that svc puts under a question, with the code of an approval. */
const approvalCommand = /^\/(?:approve|refuse) [0-9A-Z]{10}$/i;

/**
 * Checks the text of a press, since a modified client can send a text that no button has. An
 * approval command counts even without a button, since its question may be gone. Any other text
 * must be on a button of the message: one word, or `/retry` with a number.
 * @param shown the buttons of a message that svc sent, as the platform reports them
 */
export function isPressable(data: unknown, shown: Rows): data is string {
  if (typeof data !== 'string') return false;
  if (approvalCommand.test(data)) return true;
  return buttonText.test(data) && shown.some((row) => row.some(({ says }) => says === data));
}

/** One word (a trigger or a command), or the command that asks one turn again. */
const buttonText = /^(?:\S+|\/retry \d{1,16})$/;
