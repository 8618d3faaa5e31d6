import type { Saying } from '../talk.ts';
import { answersIn, answerTo, type Part } from './answers.ts';
import { goesOn, type Deed, type Made, type Messenger, type Place } from './messenger.ts';

/**
 * Each message has one whole answer. A preview may remain only where a kill came before svc had
 * stored it and the platform does not find it again. Only a reply without a preview may be repeated
 * after a kill.
 * @param removed messages that people deleted
 * @param keptMs a preview of this age has been edited, or was stored
 */
export function audit(
  said: readonly Saying<Place>[],
  messenger: Messenger,
  removed: ReadonlySet<string>,
  { kills, keptMs }: { readonly kills: readonly number[]; readonly keptMs: number },
) {
  const all = messenger.made();
  const edits = messenger.deeds().filter(({ kind }) => kind === 'edit');
  const wasEdited = ({ message }: Made): boolean => edits.some((one) => one.message === message);
  const mayBeUnkept = ({ madeAt }: Made): boolean =>
    !messenger.findsBegun && kills.some((at) => at >= madeAt && at - madeAt <= keptMs);
  // The platform may apply such an edit later than the reply's.
  const mayBeTaken = ({ message }: Made): boolean =>
    removed.has(message) || edits.some((one) => one.message === message && one.isSpoiled);
  const beginnings = all.filter(({ text }) => text?.endsWith(goesOn));
  const grown = all.filter(({ grew }) => grew);
  const { repeats, ...faults } = auditAnswers(said, all);
  return {
    faults: {
      ...faults,
      'left unfinished': beginnings.filter((one) => wasEdited(one) || !mayBeUnkept(one)).length,
      'taken away': grown.filter((one) => one.text === null && !mayBeTaken(one)).length,
      'left waiting': messenger.waiting(),
    },
    seen: {
      shown: grown.length,
      edits: edits.length,
      removed: removed.size,
      'shown on after a kill': grown.filter((one) => survived(one, edits, kills)).length,
      'killed before it was kept': beginnings.length,
      repeats,
    },
  };
}

function auditAnswers(said: readonly Saying<Place>[], all: readonly Made[]) {
  const answers = answersIn(all);
  const orderOf = new Map(all.map(({ message }, at) => [message, at]));
  const newest = new Map<string, number>();
  let [lost, doubled, disordered, repeats] = [0, 0, 0, 0];
  for (const { chat, text } of said) {
    const answered = answers.get(text);
    const parts = answered?.parts ?? [];
    if (answered?.text !== answerTo(text) || !parts.every((same) => areAlike(same, chat))) {
      lost++;
      continue;
    }
    repeats += parts.reduce((sum, same) => sum + same.length - 1, 0);
    if (parts.some((same) => same.length > 1 && same.some(({ grew }) => grew))) doubled++;
    for (const [first] of parts) {
      if (first!.isCalled) break;
      const order = orderOf.get(first!.message)!;
      if (order < (newest.get(chat) ?? 0)) disordered++;
      newest.set(chat, order);
    }
  }
  return { lost, doubled, 'out of order': disordered, repeats };
}

const areAlike = (same: readonly Part[], place: string): boolean =>
  same.every((part) => part.place === place && part.text === same[0]!.text);

/** A later process has edited it. */
function survived(
  { message, madeAt }: Made,
  edits: readonly Deed[],
  kills: readonly number[],
): boolean {
  return edits.some(
    (edit) => edit.message === message && kills.some((at) => at > madeAt && at < edit.at),
  );
}
