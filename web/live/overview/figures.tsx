import type { ReactNode } from 'react';
import type { Status } from '../../../src/admin/admin.ts';
import { Link } from '../../kit/link.tsx';
import type { Place } from '../../kit/place.ts';
import { count, length, some } from '../../kit/words.ts';
import { usePace } from './pace.ts';
import { Sparkline } from './sparkline.tsx';

const minutes = 30;

type Props = { readonly status: Status; readonly now: number };

/** The four numbers to look at first; each leads to what it counts. */
export function Figures({ status, now }: Props) {
  const { counts, times, backlog, perMinute } = status;
  const pace = usePace(minutes);
  const oldest = backlog.flatMap(({ oldestAt }) => oldestAt ?? []);
  const oldestMs = oldest.length === 0 ? null : Math.max(0, now - Math.min(...oldest));
  return (
    <div className="grid grid-cols-2 gap-2 sm:gap-3 lg:grid-cols-4">
      <Figure
        name="Messages a minute"
        value={count(perMinute)}
        below={`${some(counts.accepted, 'message')} since the start`}
        place={{ view: 'messages', within: '1h' }}
      >
        <Sparkline minutes={pace} />
      </Figure>
      <Figure
        name="End to end"
        value={length(times.endToEnd.p50Ms)}
        below={`half are faster, 95 % in ${length(times.endToEnd.p95Ms)}`}
        place={{ view: 'messages', outcome: 'reply' }}
      >
        <Parts status={status} />
      </Figure>
      <Figure
        name="Waiting"
        value={count(counts.waiting)}
        below={oldestMs === null ? 'nothing waits' : `the oldest for ${length(oldestMs)}`}
        place={{ view: 'messages', state: 'waiting' }}
      >
        <p className="text-sm">{count(counts.inFlight)} at work</p>
      </Figure>
      <Figure
        name="Dead letters"
        value={count(counts.deadLettersKept)}
        below={`${count(counts.deadLetters)} since the start`}
        place={{ view: 'dead-letters' }}
      >
        <p className="text-sm">{count(counts.delivered)} delivered</p>
      </Figure>
    </div>
  );
}

/** What the whole time is made of, as medians. */
function Parts({ status: { times } }: { readonly status: Status }) {
  return (
    <dl className="flex flex-wrap gap-x-4 text-sm">
      <div className="flex gap-1.5">
        <dt className="text-soft">waiting</dt>
        <dd>{length(times.waited.p50Ms)}</dd>
      </div>
      <div className="flex gap-1.5">
        <dt className="text-soft">thinking</dt>
        <dd>{length(times.turns.p50Ms)}</dd>
      </div>
    </dl>
  );
}

type FigureProps = {
  readonly name: string;
  readonly value: string;
  readonly below: string;
  readonly place: Place;
  readonly children: ReactNode;
};

function Figure({ name, value, below, place, children }: FigureProps) {
  return (
    <div className="relative flex flex-col gap-1 rounded-md border border-line bg-card px-3 py-2 sm:px-4 sm:py-3 hover:border-edge">
      <p className="text-sm text-soft">{name}</p>
      <p className="text-2xl font-semibold sm:text-3xl tabular-nums">
        <Link to={place} className="text-ink no-underline after:absolute after:inset-0">
          {value}
          <span className="sr-only"> – {name}</span>
        </Link>
      </p>
      <div className="flex min-h-8 flex-col justify-end">{children}</div>
      <p className="text-sm text-soft">{below}</p>
    </div>
  );
}
