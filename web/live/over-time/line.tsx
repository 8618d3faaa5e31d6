import type { FiguresSummary } from '../../../src/admin/figures.ts';
import { moment, some } from '../../kit/words.ts';
import { bandsOf, barsHigh, barsOf } from './drawing.ts';
import { coveredBy } from './over-time.ts';

type Props = {
  readonly of: FiguresSummary;
  /** The name of the values, which screen readers read first. */
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
  readonly tone?: 'accent' | 'bad';
};

const tones = { accent: 'text-accent', bad: 'text-bad' };

/**
 * A bar for each step of a span. The background is grey where svc did not run, and a line marks
 * each new configuration.
 */
export function Line({ of, name, values, format, tone = 'accent' }: Props) {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const steps = Math.max(1, values.length);
  return (
    <svg
      role="img"
      aria-label={labelOf(of, name, values, format(most))}
      viewBox={`0 0 ${steps} ${barsHigh}`}
      preserveAspectRatio="none"
      className={`h-8 w-full forced-colors:text-[CanvasText] ${tones[tone]}`}
    >
      <path d={bandsOf(of.off)} className="fill-raised forced-colors:fill-[GrayText]" />
      <path d={barsOf(values, most)} fill="currentColor" />
      <path
        d={marksOf(of)
          .map((x) => `M${x} 0V${barsHigh}`)
          .join('')}
        vectorEffect="non-scaling-stroke"
        className="stroke-ink"
        strokeDasharray="2 2"
        fill="none"
      />
    </svg>
  );
}

/** Positions of new configurations, in steps from the beginning. */
function marksOf({ configs, from, until, stepMs }: FiguresSummary): readonly number[] {
  return configs.flatMap(({ at }) =>
    at < from || at > until ? [] : [Math.round(((at - from) / stepMs) * 100) / 100],
  );
}

function labelOf(
  of: FiguresSummary,
  name: string,
  values: readonly (number | null)[],
  most: string,
): string {
  const known = values.some((value) => value !== null);
  const covered = coveredBy(of);
  if (!known) return `${name} ${covered}: nothing yet`;
  const marks = marksOf(of).length;
  const applied =
    marks === 0
      ? ''
      : `; ${some(marks, 'configuration')} applied, the last ${moment(of.configs.at(-1)!.at)}`;
  return `${name} ${covered}: ${most} at most${applied}`;
}
