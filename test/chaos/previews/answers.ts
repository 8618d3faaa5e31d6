/** Answers whose words show their place, so that the parts of a long one can be put together. */
import { goesOn, type Made } from './messenger.ts';

/** Every fourth is too short for a preview, some are longer than a message. */
export function answerTo(text: string): string {
  const number = Number(text);
  const words = number % 4 === 3 ? 0 : number % 8 === 5 ? 400 : 20 + (number % 7) * 10;
  return [`re:${text}`, ...Array.from({ length: words }, (_, at) => `${text}-${at}`)].join(' ');
}

export type Part = Made & { readonly text: string };

/** The answer to one message: its parts in order, each with all of its copies. */
export type Answered = { readonly text: string; readonly parts: readonly (readonly Part[])[] };

/** By the answered message. Previews do not count. */
export function answersIn(made: readonly Made[]): ReadonlyMap<string, Answered> {
  const found = new Map<string, Map<number, Part[]>>();
  for (const one of made) {
    const { text } = one;
    if (text === null || text.endsWith(goesOn)) continue;
    const { question, from } = placeOf(text);
    const parts = found.get(question) ?? new Map<number, Part[]>();
    found.set(question, parts.set(from, [...(parts.get(from) ?? []), { ...one, text }]));
  }
  return new Map([...found].map(([question, parts]) => [question, put(parts)]));
}

function put(byStart: ReadonlyMap<number, readonly Part[]>): Answered {
  const parts = [...byStart].toSorted(([a], [b]) => a - b).map(([, same]) => same);
  return { text: parts.map(([part]) => part!.text).join(' '), parts };
}

function placeOf(text: string): { question: string; from: number } {
  const [, whole, part, at] = /^(?:re:(\d+)|(\d+)-(\d+))(?: |$)/.exec(text) ?? [];
  return { question: whole ?? part ?? text, from: at === undefined ? -1 : Number(at) };
}
