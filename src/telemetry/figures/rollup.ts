/** Adds up stored rows of any number of runs into the requested steps. */
import { hourMs } from '../../lib/durations.ts';
import { Bucket, readBody } from './counting.ts';
import {
  type Body,
  type FigureRow,
  type FiguresRequest,
  type KeptFigures,
  type Mark,
} from './figures.ts';

/** The most configurations of one span: the last ones. */
const marksMax = 100;

type Ends = Pick<KeptFigures, 'ownUntil'> & {
  /** When the first row of each length begins, milliseconds since 1970; null: there is none. */
  readonly first: { readonly minute: number | null; readonly hour: number | null };
};

/** The minutes of the first hour show when in that hour counting began. */
function sinceOf({ minute, hour }: Ends['first']): number | null {
  const isInFirst = minute !== null && hour !== null && minute < hour + hourMs;
  return isInFirst ? minute : (hour ?? minute);
}

/** Takes rows in order of time, and holds only the steps in memory. */
export class Rollup {
  readonly #request: FiguresRequest;
  readonly #steps: (Bucket | null)[];
  readonly #marks: Mark[] = [];
  #revisionBefore: string | null = null;

  constructor(request: FiguresRequest) {
    this.#request = request;
    const { from, until, stepMs } = request;
    this.#steps = Array<null>(Math.ceil((until - from) / stepMs)).fill(null);
  }

  add({ at, body: text }: Pick<FigureRow, 'at' | 'body'>): void {
    const { from, stepMs } = this.#request;
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
 * Leaves out marks of a revision that is already in use: svc was started again, or another process
 * took the revision too.
 * @param before the revision in use before the first mark; null: unknown
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
