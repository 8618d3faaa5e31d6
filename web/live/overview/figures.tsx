import type { ReactNode } from 'react';
import type { Status } from '../../../src/admin/admin.ts';
import type { FiguresSummary } from '../../../src/admin/figures.ts';
import { Link } from '../../kit/link.tsx';
import { Panel } from '../../kit/panel.tsx';
import type { Place } from '../../kit/place.ts';
import { count, length, some } from '../../kit/words.ts';
import { Line } from '../over-time/line.tsx';
import { coveredBy, everyStep, sumOf, useOverTime, useSpan } from '../over-time/over-time.ts';
import { SpanChoice } from '../over-time/span-choice.tsx';

type Props = { readonly status: Status; readonly now: number };

/** The main numbers. Each names its time span and links to its details. */
export function Figures({ status, now }: Props) {
  const { value: figures } = useOverTime(useSpan());
  return (
    <Panel title="Traffic" aside={<SpanChoice />}>
      <div className="grid grid-cols-2 gap-2 sm:gap-3 lg:grid-cols-3">
        <Accepted status={status} figures={figures} />
        <Unanswered figures={figures} />
        <EndToEnd status={status} figures={figures} />
        <Waiting status={status} figures={figures} now={now} />
        <DeadLetters status={status} figures={figures} />
        <Tokens figures={figures} />
      </div>
    </Panel>
  );
}

type Shown = { readonly figures: FiguresSummary | null };

/** Where the time of the figures begins: the linked list has what they count. */
const sinceOf = (figures: FiguresSummary | null): string =>
  figures === null ? '' : String(Math.max(figures.from, figures.since ?? 0));

function Accepted({ status: { perMinute }, figures }: Shown & { readonly status: Status }) {
  return (
    <Figure
      name="Messages in the last minute"
      value={count(perMinute)}
      below={
        figures === null ? null : `${count(sumOf(figures.whole.accepted))} ${coveredBy(figures)}`
      }
      place={{ view: 'messages', within: '1m' }}
    >
      {figures === null ? null : (
        <Line
          of={figures}
          name={`Messages ${everyStep(figures)}`}
          values={figures.whole.accepted}
          format={count}
        />
      )}
    </Figure>
  );
}

function Unanswered({ figures }: Shown) {
  if (figures === null) return <Figure name="Not answered" value="–" below={null} place={null} />;
  const { failed, answered } = figures.whole;
  return (
    <Figure
      name={`Not answered ${coveredBy(figures)}`}
      value={count(sumOf(failed))}
      below={`${count(sumOf(answered))} answered`}
      place={{ view: 'messages', state: 'unanswered', since: sinceOf(figures) }}
    >
      <Line
        of={figures}
        name={`Not answered ${everyStep(figures)}`}
        values={failed}
        format={count}
        tone="bad"
      />
    </Figure>
  );
}

function EndToEnd({ status: { times }, figures }: Shown & { readonly status: Status }) {
  const { p50Ms, p95Ms } = figures?.whole.overall ?? times.endToEnd;
  return (
    <Figure
      name={`End to end ${figures === null ? 'since the start' : coveredBy(figures)}`}
      value={length(p50Ms)}
      below={`half are faster, 95 % in ${length(p95Ms)}`}
      place={{ view: 'messages', state: 'answered', since: sinceOf(figures) }}
    >
      {figures === null ? null : (
        <Line of={figures} name="95 % within" values={figures.whole.p95Ms} format={length} />
      )}
    </Figure>
  );
}

function Waiting({ status: { backlog }, figures, now }: Shown & Props) {
  const messages = sumOf(backlog.map(({ inbox }) => inbox));
  const replies = sumOf(backlog.map(({ outbox }) => outbox));
  const oldest = backlog.flatMap(({ oldestAt }) => oldestAt ?? []);
  const oldestMs = oldest.length === 0 ? null : Math.max(0, now - Math.min(...oldest));
  const waits = oldestMs === null ? 'nothing waits' : `the oldest for ${length(oldestMs)}`;
  return (
    <Figure
      name="Waiting for an answer now"
      value={count(messages)}
      below={`${waits}, ${some(replies, 'reply', 'replies')} to deliver`}
      place={{ view: 'messages', state: 'waiting' }}
    >
      {figures === null ? null : (
        <Line of={figures} name="Waiting" values={figures.whole.queue} format={count} />
      )}
    </Figure>
  );
}

function DeadLetters({ status: { counts }, figures }: Shown & { readonly status: Status }) {
  return (
    <Figure
      name="Dead letters now"
      value={count(counts.deadLettersKept)}
      below={`${count(counts.delivered)} delivered since the start`}
      place={{ view: 'dead-letters' }}
    >
      {figures === null ? null : (
        <Line
          of={figures}
          name="Dead letters"
          values={figures.whole.deadLetters}
          format={count}
          tone="bad"
        />
      )}
    </Figure>
  );
}

function Tokens({ figures }: Shown) {
  if (figures === null) return <Figure name="Tokens" value="–" below={null} place={null} />;
  const { inputTokens, outputTokens } = figures.whole;
  const read = sumOf(inputTokens);
  const written = sumOf(outputTokens);
  return (
    <Figure
      name={`Tokens ${coveredBy(figures)}`}
      value={count(read + written)}
      below={`${count(read)} read, ${count(written)} written`}
      place={{ view: 'providers', span: figures.span }}
    >
      <Line
        of={figures}
        name={`Tokens ${everyStep(figures)}`}
        values={inputTokens.map((value, at) => value + (outputTokens[at] ?? 0))}
        format={count}
      />
    </Figure>
  );
}

type FigureProps = {
  readonly name: string;
  readonly value: string;
  readonly below: string | null;
  /** null: there is nothing to link to yet. */
  readonly place: Place | null;
  readonly children?: ReactNode;
};

function Figure({ name, value, below, place, children }: FigureProps) {
  return (
    <div className="relative flex flex-col gap-1 rounded-md border border-line bg-card px-3 py-2 sm:px-4 sm:py-3 hover:border-edge">
      <p className="text-sm text-soft">{name}</p>
      <p className="text-2xl font-semibold sm:text-3xl tabular-nums">
        {place === null ? (
          value
        ) : (
          <Link to={place} className="text-ink no-underline after:absolute after:inset-0">
            {value}
            <span className="sr-only"> – {name}</span>
          </Link>
        )}
      </p>
      <div className="flex min-h-8 flex-col justify-end">{children}</div>
      <p className="text-sm text-soft">{below}</p>
    </div>
  );
}
