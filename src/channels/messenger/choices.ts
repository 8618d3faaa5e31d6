/**
 * What a person may answer by a press, on platforms that have buttons. A platform that takes them
 * not as they are shows none: the text, which says what to write, stands alone.
 */
import type { Choice } from '../../domain/reply.ts';

/** What a platform takes. */
export type ButtonLimits = {
  readonly labelUnitsMax: number;
  readonly saysBytesMax: number;
};

const rowMax = 2;
/** Both messengers take more. */
const choicesMax = 10;

/** @returns rows of buttons, a pair in each; none where one of them would be refused */
export function rowsOf(
  choices: readonly Choice[] | undefined,
  { labelUnitsMax, saysBytesMax }: ButtonLimits,
): readonly (readonly Choice[])[] {
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

/** What a press leaves: a row is one question, and the others are still open. */
export function rowsBut(
  says: string,
  rows: readonly (readonly Choice[])[],
): readonly (readonly Choice[])[] {
  return rows.filter((row) => row.length > 0 && row.every((one) => one.says !== says));
}

/** The commands that svc itself puts under a question, with the code of an approval. */
const command = /^\/(?:approve|refuse) [0-9A-Z]{10}$/i;

/**
 * A program of a person's own can press what no button says. What is taken without one is a command
 * with the code of an approval, under which the question may have gone; and else what a button of
 * the message says: one word, or a turn to be asked again, as the platform itself tells.
 * @param shown the buttons of a message of svc's own
 */
export function isPressable(data: unknown, shown: readonly (readonly Choice[])[]): data is string {
  if (typeof data !== 'string') return false;
  if (command.test(data)) return true;
  return ofButton.test(data) && shown.some((row) => row.some(({ says }) => says === data));
}

/** A trigger, or a command; that of one turn to be asked again names it. */
const ofButton = /^(?:\S+|\/retry \d{1,16})$/;
