import { formatModelName } from '../../../src/domain/model-words.ts';
import type { FiguresSummary } from '../../../src/admin/figures.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { count, length } from '../../kit/words.ts';
import { Line } from './line.tsx';
import { coveredBy, everyStep, sumOf, useOverTime, useSpan } from './over-time.ts';
import { SpanChoice } from './span-choice.tsx';

/** The calls of each model over the last hour, day or month. */
export function ModelLines() {
  const { value: figures, refused } = useOverTime(useSpan());
  return (
    <Panel title="Models over time" aside={<SpanChoice />}>
      <Refusal refused={refused} />
      {figures === null ? null : (
        <Table
          name="Models over time"
          columns={columnsOf(figures)}
          rows={figures.models}
          keyOf={({ model, provider }) => `${provider} ${model}`}
          none={`No model was asked ${coveredBy(figures)}.`}
        />
      )}
    </Panel>
  );
}

type Model = FiguresSummary['models'][number];

function columnsOf(figures: FiguresSummary): readonly Column<Model>[] {
  const step = everyStep(figures);
  return [
    {
      title: 'Model',
      cell: ({ model }) => (
        <Link to={{ view: 'model', id: model }}>
          <AsWritten text={formatModelName(model)} />
        </Link>
      ),
    },
    {
      title: `Answers ${step}`,
      cell: ({ model, answered }) => (
        <Line
          of={figures}
          name={`Answers of ${formatModelName(model)} ${step}`}
          values={answered}
          format={count}
        />
      ),
    },
    { title: 'Answers', number: true, cell: ({ answered }) => count(sumOf(answered)) },
    {
      title: `Failures ${step}`,
      cell: ({ model, failed }) => (
        <Line
          of={figures}
          name={`Failures of ${formatModelName(model)} ${step}`}
          values={failed}
          format={count}
          tone="bad"
        />
      ),
    },
    { title: 'Failures', number: true, cell: ({ failed }) => count(sumOf(failed)) },
    {
      title: '95 % within, over time',
      cell: ({ model, p95Ms }) => (
        <Line
          of={figures}
          name={`95 % of ${formatModelName(model)} within`}
          values={p95Ms}
          format={length}
        />
      ),
    },
    { title: 'Half within', number: true, cell: ({ overall }) => length(overall.p50Ms) },
    { title: '95 % within', number: true, cell: ({ overall }) => length(overall.p95Ms) },
    {
      title: 'Tokens in / out',
      number: true,
      cell: ({ inputTokens, outputTokens }) =>
        `${count(sumOf(inputTokens))} / ${count(sumOf(outputTokens))}`,
    },
  ];
}
