/** Compares the answers with the messages. */
import { marksIn, type Said, type Talk } from './talk.ts';

/** A turn reads at most this many files of a kind. */
const filesMax = 4;

type Answer = { readonly text: string; readonly at: number };
type Given = { readonly marks: readonly string[]; readonly at: number };

/** The marks in the answers. */
export function answered(sent: readonly Answer[]): Set<string> {
  return new Set(sent.flatMap(({ text }) => marksIn(text)));
}

/** @param starts of the processes, milliseconds since 1970 */
export function audit(talk: Talk, sent: readonly Answer[], starts: readonly number[]) {
  const given = sent.map(({ text, at }) => ({ marks: marksIn(text), at }));
  const all = answered(sent);
  const pieces = talk.said.flatMap((said) => said.files.map((file) => ({ said, ...file })));
  const missed = pieces.filter(({ said, mark }) => {
    return said.text === '' ? !all.has(mark) : !isWith(said.text, mark, given);
  });
  const beyond = missed.filter(({ said, mark }) => isBeyond(said, mark, given));
  return {
    messages: talk.said.length,
    pictures: pieces.filter(({ kind }) => kind === 'picture').length,
    files: pieces.filter(({ kind }) => kind !== 'picture').length,
    lost: talk.said.filter(({ text }) => text !== '' && !all.has(text)).length,
    'not shown': missed.length - beyond.length,
    'more than fit': beyond.length,
    'not answered by a model': sent.filter(({ text }) => !text.startsWith('re: ')).length,
    'out of order': disorderIn(talk, [...all]),
    ...repeatsIn(given, starts),
  };
}

/** @param order marks in the order of their first answers */
function disorderIn({ said }: Talk, order: readonly string[]): number {
  const placeOf = new Map(order.map((mark, place) => [mark, place]));
  const last = new Map<number, number>();
  let disorder = 0;
  for (const { person, text } of said) {
    const place = placeOf.get(text);
    if (place === undefined) continue;
    if (place < (last.get(person) ?? 0)) disorder++;
    last.set(person, place);
  }
  return disorder;
}

/** Whether every answer to that text has that mark, too. */
function isWith(text: string, mark: string, given: readonly Given[]): boolean {
  const own = given.filter(({ marks }) => marks.includes(text));
  return own.length > 0 && own.every(({ marks }) => marks.includes(mark));
}

/** Whether the turn was full, so that the file had no place. */
function isBeyond({ text }: Said, mark: string, given: readonly Given[]): boolean {
  const like = ({ marks }: Given) => marks.filter((one) => one[0] === mark[0]).length;
  return given.some((one) => one.marks.includes(text) && like(one) === filesMax);
}

/** svc itself caused a repeat when no start lies before it. */
function repeatsIn(given: readonly Given[], starts: readonly number[]) {
  const last = new Map<string, number>();
  let [repeats, alone] = [0, 0];
  for (const { marks, at } of given) {
    for (const mark of marks) {
      const before = last.get(mark);
      last.set(mark, at);
      if (before === undefined) continue;
      repeats++;
      if (!starts.some((start) => start >= before && start <= at)) alone++;
    }
  }
  return { repeats, 'doubled alone': alone };
}
