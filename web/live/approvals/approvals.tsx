import { channelName } from '../../../src/channels/registry.ts';
import { useState } from 'react';
import {
  approvalStates,
  type ApprovalRow,
  type ApprovalState,
} from '../../../src/domain/approval.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { useKept } from '../../kit/entry.ts';
import { Link } from '../../kit/link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { usePlace } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useNow } from '../../kit/use-now.ts';
import { ago, ahead, moment } from '../../kit/words.ts';
import { messagePlace } from '../links/places.ts';
import { NothingAsks } from '../next-step.tsx';
import { OneOf } from '../one-of.tsx';
import { opener } from '../opener.tsx';
import { Paged } from '../paged.tsx';
import { usePages } from '../use-pages.ts';
import { useRefresh } from '../use-refresh.ts';
import { describeDecider, describeFate, stateWords, toneOfState } from './approval-words.ts';
import { Deciding, type Wish } from './deciding.tsx';
import { OpenedApproval } from './opened.tsx';

/** Tool calls that wait for an approval, and the results of earlier ones. */
export function Approvals() {
  const { state: named } = usePlace();
  const state = approvalStates.find((one) => one === named) ?? 'waiting';
  const pages = usePages<ApprovalRow>(`approvals?state=${state}`);
  // A turn asks for approvals at its end, and finishes decided ones.
  useRefresh(['turn_finished', 'command_answered', 'operator_wrote'], pages.again);
  // The dialog stays open after the decided row disappears.
  const [wish, setWish] = useState<Wish | null>(null);
  return (
    <Panel title="Approvals">
      <p className="max-w-prose text-soft">
        Calls of tools that run only after a person has said yes to them. An operator may always
        decide; so may those whom the agent lists as approvers, on their messenger.
      </p>
      <OneOf
        name="Which approvals"
        field="state"
        values={approvalStates}
        chosen={state}
        format={(one) => stateWords[one]}
      />
      <Paged pages={pages} words={['call', 'calls']}>
        {(rows) => <Rows key={state} rows={rows} state={state} onWish={setWish} />}
      </Paged>
      {wish === null ? null : (
        <Deciding wish={wish} onClose={() => setWish(null)} onDecided={pages.again} />
      )}
    </Panel>
  );
}

type RowsProps = {
  readonly rows: readonly ApprovalRow[];
  readonly state: ApprovalState;
  readonly onWish: (wish: Wish) => void;
};

function Rows({ rows, state, onWish }: RowsProps) {
  const now = useNow();
  const [opened, setOpened] = useKept<string | null>('approval', null);
  const columns: readonly Column<ApprovalRow>[] = [
    opener({
      title: 'More',
      opened,
      keyOf: ({ id }) => id,
      nameOf: ({ id, tool }) => `${tool} ${id}`,
      onOpen: setOpened,
    }),
    ...factsAt(now),
    ...(state === 'waiting' ? [untilAt(now)] : decidedColumns),
    messageColumn,
  ];
  return (
    <Table
      name="Approvals"
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      none={state === 'waiting' ? <NothingAsks /> : `No call was ${state}, as far as is kept.`}
      renderDetail={(row) =>
        opened === row.id ? <OpenedApproval row={row} onWish={onWish} /> : null
      }
    />
  );
}

const factsAt = (now: number): readonly Column<ApprovalRow>[] => [
  {
    title: 'Asked',
    cell: ({ askedAt }) => <span title={moment(askedAt)}>{ago(askedAt, now)}</span>,
  },
  {
    title: 'Tool',
    cell: ({ tool }) => (
      <code>
        <AsWritten text={tool} />
      </code>
    ),
  },
  { title: 'Brain', cell: ({ brain }) => <AsWritten text={brain} /> },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
];

const messageColumn: Column<ApprovalRow> = {
  title: 'Message',
  cell: ({ messageId }) => <Link to={messagePlace(messageId)}>{messageId}</Link>,
};

const untilAt = (now: number): Column<ApprovalRow> => ({
  title: 'Ends',
  cell: ({ expiresAt }) => <span title={moment(expiresAt)}>{ahead(expiresAt, now)}</span>,
});

const decidedColumns: readonly Column<ApprovalRow>[] = [
  {
    title: 'Decided',
    cell: ({ state, decidedBy, decidedAt }) => (
      <>
        <State tone={toneOfState[state]}>{stateWords[state]}</State>
        <p className="text-soft">
          {decidedBy === null ? 'nobody decided in time' : `by ${describeDecider(decidedBy)}`}
          {decidedAt === null ? '' : `, ${moment(decidedAt)}`}
        </p>
      </>
    ),
  },
  {
    title: 'What became of it',
    cell: (row) => (row.state === 'waiting' ? '–' : describeFate(row.state, row)),
  },
];
