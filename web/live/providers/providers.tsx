import { NoBrain } from '../next-step.tsx';
import { formatModelName, describeProvider } from '../../../src/domain/model-words.ts';
import type { BrainStatus } from '../../../src/admin/admin.ts';
import type { ProviderStatus } from '../../../src/admin/model-probes.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { OfBefore } from '../../kit/of-before.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useNow } from '../../kit/use-now.ts';
import { count, length, spaced } from '../../kit/words.ts';
import { ModelTable, Health } from '../overview/model-table.tsx';
import { ModelLines } from '../over-time/model-lines.tsx';
import { useStatus } from '../status.tsx';

/** The health of providers and models, and the brains that ask each model. */
export function Providers() {
  const { value: status, refused } = useStatus();
  const now = useNow();
  return (
    <>
      <Asking value={status} refused={refused} />
      {status === null ? null : (
        <OfBefore when={refused !== null}>
          <Panel title="Providers">
            <p className="max-w-prose text-soft">
              How a model stands is told by its calls of the last five minutes; a provider fails
              where all of its models do. What svc gave up itself, mostly since another answer was
              in hand, is no failure. Answers and failures are counted since the start.
            </p>
            <Table
              name="Providers"
              columns={columnsAt(now)}
              rows={status.providers}
              keyOf={({ provider }) => provider}
              none="No provider was asked since the start; the first message asks one."
            />
          </Panel>
          <Panel title="Models">
            <ModelTable status={status} now={now} />
          </Panel>
          <ModelLines />
          <Panel title="Who asks them">
            <Table
              name="Who asks them"
              columns={askedColumns}
              rows={usesOf(status.brains)}
              keyOf={({ model, brain }) => `${model} ${brain}`}
              none={<NoBrain />}
            />
          </Panel>
        </OfBefore>
      )}
    </>
  );
}

const columnsAt = (now: number): readonly Column<ProviderStatus>[] => [
  { title: 'Provider', cell: ({ provider }) => describeProvider(provider) },
  {
    title: 'State',
    cell: (provider) => <Health of={provider} reason={provider.reason} now={now} />,
  },
  { title: 'Answers', number: true, cell: ({ answers }) => count(answers) },
  {
    title: 'Failures',
    number: true,
    cell: ({ failures, reasons }) => (
      <>
        {count(failures)}
        <ul className="text-soft">
          {reasons.map((reason) => (
            <li key={reason.code}>
              {count(reason.count)} × {spaced(reason.code)}
            </li>
          ))}
        </ul>
      </>
    ),
  },
  { title: 'Given up', number: true, cell: ({ givenUp }) => count(givenUp) },
  { title: 'Half within', number: true, cell: ({ times }) => length(times.p50Ms) },
  { title: '95 % within', number: true, cell: ({ times }) => length(times.p95Ms) },
];

type Use = {
  readonly model: string;
  readonly brain: string;
  readonly isDropped: boolean;
  readonly why: string;
};

function usesOf(brains: readonly BrainStatus[]): readonly Use[] {
  return brains.flatMap(({ name: brain, sensitivity, models }) =>
    models.map(({ name: model, locality, state }) => ({
      model,
      brain,
      isDropped: state === 'dropped',
      why: `${sensitivity} brain, ${locality} model`,
    })),
  );
}

const askedColumns: readonly Column<Use>[] = [
  { title: 'Model', cell: ({ model }) => <AsWritten text={formatModelName(model)} /> },
  { title: 'Brain', cell: ({ brain }) => <AsWritten text={brain} /> },
  {
    title: 'Asked?',
    cell: ({ isDropped }) => (
      <State tone={isDropped ? 'off' : 'good'}>
        {isDropped ? 'never: dropped by the privacy filter' : 'asked'}
      </State>
    ),
  },
  { title: 'Why', cell: ({ why }) => why },
];
