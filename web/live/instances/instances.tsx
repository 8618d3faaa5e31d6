import { channelName } from '../../../src/channels/registry.ts';
import type { InstanceStatus, Status } from '../../../src/admin/admin.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { OfBefore } from '../../kit/of-before.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State, toneOf } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useNow } from '../../kit/use-now.ts';
import { ago, count, moment } from '../../kit/words.ts';
import { useStatus } from '../status.tsx';

/** The processes that share the work: address, special duties, and load of each. */
export function Instances() {
  const { value: status, answeredAt, refused } = useStatus();
  const clock = useNow();
  const now = refused === null ? clock : (answeredAt ?? clock);
  return (
    <>
      <Asking value={status} refused={refused} />
      {status === null ? null : (
        <OfBefore when={refused !== null}>
          <Panel title="Instances">
            <p className="max-w-prose text-soft">
              Each takes messages in on its own addresses, and any of them answers here for all.
              What only one may do at a time stands under “Has”; when that one ends, another takes
              it over. Numbers elsewhere are the sums over these.
            </p>
            <Table
              name="Instances"
              columns={columnsOf(status, now)}
              rows={status.instances ?? []}
              keyOf={({ id }) => String(id)}
              none={alone}
            />
          </Panel>
        </OfBefore>
      )}
    </>
  );
}

const alone = 'svc works alone on its storage. Several share the work on one PostgreSQL database.';

const columnsOf = (status: Status, now: number): readonly Column<InstanceStatus>[] => [
  {
    title: 'Instance',
    cell: ({ id }) => (
      <>
        {id}
        {id === status.instance ? <p className="text-soft">answers here</p> : null}
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ state, reason, toldAt }) => (
      <>
        <State tone={toneOf(state)}>{state}</State>
        {reason === null ? null : (
          <p className="text-soft">
            <AsWritten text={reason} />
          </p>
        )}
        {state === 'late' ? (
          <p className="text-soft">
            {toldAt === null ? 'It told nothing yet.' : `It was last heard ${ago(toldAt, now)}.`}
          </p>
        ) : null}
      </>
    ),
  },
  {
    title: 'Where',
    cell: ({ host, addresses }) => (
      <>
        {host === null ? '–' : <AsWritten text={host} />}
        <ul className="text-soft">
          {addresses.map(({ of, address }) => (
            <li key={`${of} ${address}`} className="wrap-anywhere">
              {channelName(of)} {address}
            </li>
          ))}
        </ul>
      </>
    ),
  },
  { title: 'Has', cell: ({ posts }) => posts.map(({ name }) => name).join(', ') || '–' },
  {
    title: 'Version',
    cell: ({ version, revision }) => (
      <>
        {version}
        <p className="text-soft">configuration {revision ?? 'not told yet'}</p>
        {revision === null || revision === status.revision ? null : (
          <State tone="wait">another than here</State>
        )}
      </>
    ),
  },
  {
    title: 'Since',
    cell: ({ startedAt }) => <span title={moment(startedAt)}>{ago(startedAt, now)}</span>,
  },
  { title: 'A minute', number: true, cell: ({ perMinute }) => figure(perMinute) },
  { title: 'In hand', number: true, cell: ({ inHand }) => figure(inHand) },
  { title: 'Waiting', number: true, cell: ({ waiting }) => figure(waiting) },
];

const figure = (n: number | null): string => (n === null ? '–' : count(n));
