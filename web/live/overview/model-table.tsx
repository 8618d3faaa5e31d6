/** The table of models, and the words for the health of one. */
import { formatModelName } from '../../../src/domain/model-words.ts';
import type { Status } from '../../../src/admin/admin.ts';
import type { ModelCallsStatus, ProviderStatus } from '../../../src/admin/model-probes.ts';
import { failure, type FailureKind } from '../../../src/domain/failure.ts';
import { describeFailed, healthSentences } from '../../../src/domain/health.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { State, toneOf } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { ago, count, lasted, length, spaced } from '../../kit/words.ts';

type Row = { readonly model: ModelCallsStatus; readonly now: number };

/** Includes models that the configuration no longer has, while the service has their counts. */
export function ModelTable({ status, now }: { readonly status: Status; readonly now: number }) {
  return (
    <Table
      name="Models"
      columns={columns}
      rows={status.models.map((model) => ({ model, now }))}
      keyOf={({ model }) => model.model}
      none="No model was asked since the start; the first message asks one."
    />
  );
}

const columns: readonly Column<Row>[] = [
  {
    title: 'Model',
    cell: ({ model: { model, inUse } }) =>
      inUse === false ? (
        <AsWritten text={formatModelName(model)} />
      ) : (
        <Link to={{ view: 'model', id: model }}>
          <AsWritten text={formatModelName(model)} />
        </Link>
      ),
  },
  {
    title: 'State',
    cell: ({ model, now }) =>
      model.inUse === false ? (
        <State tone="off">not in use now</State>
      ) : (
        <Health of={model} reason={model.reason} now={now} />
      ),
  },
  { title: 'Answers', number: true, cell: ({ model }) => count(model.answers) },
  {
    title: 'Failures',
    number: true,
    cell: ({ model: { failures, reasons } }) => {
      const most = reasons[0];
      return (
        <>
          {count(failures)}
          {most === undefined ? null : <p className="text-soft">mostly {spaced(most.code)}</p>}
        </>
      );
    },
  },
  { title: 'Given up', number: true, cell: ({ model }) => count(model.givenUp) },
  { title: 'Half within', number: true, cell: ({ model }) => length(model.times.p50Ms) },
  { title: '95 % within', number: true, cell: ({ model }) => length(model.times.p95Ms) },
];

type HealthProps = {
  readonly of: Pick<ModelCallsStatus & ProviderStatus, 'standing' | 'since' | 'shownAt' | 'window'>;
  readonly reason: FailureKind | null;
  readonly now: number;
};

/** A model's health, since when, and the counts behind it. */
export function Health({ of, reason, now }: HealthProps) {
  const { standing, since, shownAt, window } = of;
  if (standing === null || standing === 'unknown') {
    return <State tone="off">{healthSentences.unknown}</State>;
  }
  const counted = describeFailed(window, 'calls') ?? `last tried ${ago(shownAt, now)}`;
  return (
    <>
      <State tone={toneOf(standing)}>{healthSentences[standing]}</State>
      <p className="text-soft">
        {since === null ? '' : `for ${lasted(since, now)}; `}
        {counted}
      </p>
      {reason === null ? null : <p>{failure(reason).detail}</p>}
    </>
  );
}
