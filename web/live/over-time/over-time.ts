/** Spans of figures over time (hour, day, month), and their words on a page. */
import { hourMs } from '../../../src/lib/durations.ts';
import type { FiguresSummary } from '../../../src/admin/figures.ts';
import { usePlace } from '../../kit/place.ts';
import { useAsked, type Asked } from '../../kit/use-asked.ts';
import { length, moment } from '../../kit/words.ts';

export type Span = FiguresSummary['span'];

export const spans: Readonly<Record<Span, { readonly label: string; readonly last: string }>> = {
  hour: { label: '1 h', last: 'in the last hour' },
  day: { label: '24 h', last: 'in the last 24 h' },
  month: { label: '30 d', last: 'in the last 30 days' },
};

export const spanNames = Object.keys(spans) as readonly Span[];

const everyMs = 10_000;

/** The span in the page's URL; by default an hour. */
export function useSpan(): Span {
  const { span } = usePlace();
  return spanNames.find((one) => one === span) ?? 'hour';
}

export function useOverTime(span: Span): Asked<FiguresSummary> {
  return useAsked<FiguresSummary>(`figures?span=${span}`, everyMs);
}

/** `in the last 24 h`; if the figures are younger, `since 12:05:00`. */
export function coveredBy({ span, from, since }: FiguresSummary): string {
  return since !== null && since > from ? `since ${moment(since)}` : spans[span].last;
}

/** `a minute`, `in 15 min`. */
export function everyStep({ stepMs }: Pick<FiguresSummary, 'stepMs'>): string {
  if (stepMs === 60_000) return 'a minute';
  return stepMs === hourMs ? 'an hour' : `in ${length(stepMs)}`;
}

export const sumOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0);
