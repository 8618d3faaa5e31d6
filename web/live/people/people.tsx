import { channelName } from '../../../src/channels/registry.ts';
import type { TurnedAway, TurnedAwayReason } from '../../../src/domain/gate.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Panel } from '../../kit/panel.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useToken } from '../../kit/token.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { ago, count, moment } from '../../kit/words.ts';
import { OperatorOnly } from '../operator-only.tsx';
import { useRefresh } from '../use-refresh.ts';
import { Pairings } from './pairings.tsx';

const reasons: Readonly<Record<TurnedAwayReason, string>> = {
  stranger: 'not on the list, and not let in',
  code_pending: 'a stranger, with a code that still counts',
  codes_out: 'a stranger, while a hundred new codes wait for you',
  groups_off: 'in a group, where svc is silent',
  not_addressed: 'in a group, not to the bot',
};

/** Who may talk on messengers: rejected senders, and those that a code let in. */
export function People() {
  return (
    <>
      <Panel title="Let in by a code">
        <OperatorOnly may="let people in, or see who was">
          <Pairings />
        </OperatorOnly>
      </Panel>
      <Panel title="Turned away">
        <p className="max-w-prose text-soft">
          Since the start, on messengers; of what they wrote nothing is kept.
        </p>
        <TurnedAwayList />
      </Panel>
    </>
  );
}

/** Only the operator sees the id of a sender. */
type Row = Omit<TurnedAway, 'sender'> & Partial<Pick<TurnedAway, 'sender'>>;

function TurnedAwayList() {
  const isOperator = useToken((state) => state.token) !== null;
  const path = isOperator ? 'turned-away/senders' : 'turned-away';
  const { value, refused, again } = useAsked<{ readonly rows: readonly Row[] }>(path);
  const now = useNow();
  useRefresh(['message_turned_away'], again);
  return (
    <>
      <Asking value={value} refused={refused} />
      {value === null ? null : (
        <Table
          name="Turned away"
          columns={columnsAt(now, isOperator)}
          rows={value.rows.map((row, index) => ({ ...row, index }))}
          keyOf={({ index }) => String(index)}
          none="Nobody was. Who may talk on a messenger is said under access of its channel."
        />
      )}
    </>
  );
}

function columnsAt(now: number, isOperator: boolean): readonly Column<Row>[] {
  const sender: Column<Row> = {
    title: 'Sender',
    cell: ({ sender: id }) => (id === undefined ? '–' : <AsWritten text={id} />),
  };
  return [
    { title: 'Last', cell: ({ at }) => <span title={moment(at)}>{ago(at, now)}</span> },
    { title: 'Channel', cell: ({ channel }) => channelName(channel) },
    ...(isOperator ? [sender] : []),
    { title: 'Why', cell: ({ reason }) => reasons[reason] },
    { title: 'Messages', number: true, cell: (row) => count(row.count) },
  ];
}
