/** Rows of any number of runs, added up by the steps that were asked for. */
import { hourMs } from '../../lib/durations.ts';
import { Bucket, readBody } from './counting.ts';
import { type Body, type FigureRow, type FiguresAsked } from './figures.ts';
import type { KeptFigures, Mark } from './figures.ts';

/** So many configurations of one span are told, the last ones. */
const marksMax = 100;

type Ends = Pick<KeptFigures, 'ownUntil'> & {
  /** When the first row of each length begins, milliseconds since 1970; null: there is none. */
  readonly first: { readonly minute: number | null; readonly hour: number | null };
};

/** The minutes of an hour tell when in it the first was counted. */
function sinceOf({ minute, hour }: Ends['first']): number | null {
  const isInFirst = minute !== null && hour !== null && minute < hour + hourMs;
  return isInFirst ? minute : (hour ?? minute);
}

/** Takes the rows in the order of their times, and holds no more of them than the steps. */
export class Gathering {
  readonly #asked: FiguresAsked;
  readonly #steps: (Bucket | null)[];
  readonly #marks: Mark[] = [];
  #revisionBefore: string | null = null;

  constructor(asked: FiguresAsked) {
    this.#asked = asked;
    const { from, until, stepMs } = asked;
    this.#steps = Array<null>(Math.ceil((until - from) / stepMs)).fill(null);
  }

  add({ at, body: text }: Pick<FigureRow, 'at' | 'body'>): void {
    const { from, stepMs } = this.#asked;
    const place = Math.floor((at - from) / stepMs);
    const body = readBody(text);
    if (body === null || !(place in this.#steps)) return;
    const step = (this.#steps[place] ??= new Bucket(from + place * stepMs));
    step.addBody(body);
    if (this.#marks.length === 0 && body.configs.length === 0) {
      this.#revisionBefore ??= body.revision;
    }
    this.#marks.push(...body.configs);
  }

  told({ first, ownUntil }: Ends): KeptFigures {
    return {
      steps: this.#steps.map((step): Body | null => step?.body() ?? null),
      since: sinceOf(first),
      ownUntil,
      revisionBefore: this.#revisionBefore,
      marks: changesIn(this.#marks, this.#revisionBefore),
    };
  }
}

/**
 * What is told of a revision once it is in use already is left out: svc was started anew, or
 * another instance took it as well.
 * @param before in use before the first of them; null: it is not known
 */
export function changesIn(marks: readonly Mark[], before: string | null): readonly Mark[] {
  let last = before;
  const changes = marks
    .toSorted((one, other) => one.at - other.at)
    .filter(({ revision }) => {
      const isNew = revision !== last;
      last = revision;
      return isNew;
    });
  return changes.slice(-marksMax);
}
