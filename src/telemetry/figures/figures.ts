/**
 * Figures: what happened in each minute and each hour, as numbers alone, for lines over time. Every
 * start of svc counts for itself, as a run, and keeps a row a minute and a row an hour; whoever
 * reads adds up the rows of all runs. Nothing in them is of a person.
 */
import { dayMs, hourMs, minuteMs } from '../../lib/durations.ts';

/** How long rows are kept, by their length. */
export const kept = [
  { lengthMs: minuteMs, forMs: dayMs },
  { lengthMs: hourMs, forMs: 30 * dayMs },
] as const;

export type RowLength = (typeof kept)[number]['lengthMs'];

/** Of each length so many of the newest stay, however often svc was started. */
export const figureRowsMax = 50_000;

/** Models of one row beyond so many are counted together, under `others`. */
export const modelsMax = 50;
export const others = 'others';

/** Configurations of one row that are told, the last ones. */
export const marksOfRowMax = 10;

/** A configuration was taken into use; `at`: milliseconds since 1970. */
export type Mark = { readonly at: number; readonly revision: string };

/** What one run counted in a minute or an hour; kept again, it takes its own place. */
export type FigureRow = {
  readonly lengthMs: RowLength;
  /** When it begins, milliseconds since 1970. */
  readonly at: number;
  /** A number that no other start has; within a run minutes are kept in their order. */
  readonly run: number;
  /** JSON of a `Body`. */
  readonly body: string;
};

/** A bucket, as it is kept. A later release may add to it. */
export type Body = {
  readonly accepted: number;
  readonly answered: number;
  readonly failed: number;
  /** As `LogHistogram` tells it. */
  readonly times: readonly number[];
  /** null: it has no end yet. */
  readonly end: Ending | null;
  readonly models: readonly ModelBody[];
  /** In use at its end. */
  readonly revision: string | null;
  readonly configs: readonly Mark[];
};

/** What there was at the end of a bucket; `at`: milliseconds since 1970. */
export type Ending = { readonly at: number; readonly queue: number; readonly deadLetters: number };

export type ModelBody = {
  readonly model: string;
  readonly provider: string;
  readonly answered: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly times: readonly number[];
};

export const spans = ['hour', 'day', 'month'] as const;
export type Span = (typeof spans)[number];

/** How a span is told: so many steps, each of rows of that length. */
export const scales = {
  hour: { lengthMs: minuteMs, stepMs: minuteMs, steps: 60 },
  day: { lengthMs: minuteMs, stepMs: 15 * minuteMs, steps: 96 },
  month: { lengthMs: hourMs, stepMs: 6 * hourMs, steps: 120 },
} as const satisfies Record<Span, { lengthMs: RowLength; stepMs: number; steps: number }>;

/** Rows of that length from `from` until before `until`, added up by steps. */
export type FiguresAsked = {
  readonly lengthMs: RowLength;
  readonly stepMs: number;
  readonly from: number;
  readonly until: number;
  readonly own: AtHand;
};

/** A run that goes on has these minutes at hand, whether they are kept or not yet. */
export type AtHand = {
  readonly run: number;
  readonly first: number;
  readonly last: number;
};

export type KeptFigures = {
  /** Of each step; null: no run kept anything in it. */
  readonly steps: readonly (Body | null)[];
  /** When the first that is kept begins, milliseconds since 1970; null: nothing is. */
  readonly since: number | null;
  /** The last of the minutes at hand that is kept, and is in its hour as well; null: none is. */
  readonly ownUntil: number | null;
  /** In use before the first of `marks`; null: it is not known. */
  readonly revisionBefore: string | null;
  /** In the order of their times; the last of very many. */
  readonly marks: readonly Mark[];
};
