import { channelName } from '../../../src/channels/registry.ts';
import type { Hold } from '../../../src/domain/takeover.ts';
import { Link } from '../../kit/link.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { ahead, count, moment } from '../../kit/words.ts';
import { useRefresh } from '../use-refresh.ts';
import { conversationPlace } from '../links/places.ts';

const everyMs = 10_000;

type Held = Hold & { readonly id: string; readonly channel: string; readonly waiting: number };
type Row = Held & { readonly now: number };

/** What operators answer by hand just now; nothing where nobody does. */
export function HeldNow() {
  const now = useNow();
  const { value, refused, again } = useAsked<{ readonly rows: readonly Held[] }>('holds', everyMs);
  useRefresh(['operator_wrote'], again);
  const rows = value?.rows ?? [];
  if (rows.length === 0) return <Refusal refused={refused} />;
  return (
    <Panel title="Answered by hand">
      <Table
        name="Conversations that are held"
        columns={columns}
        rows={rows.map((row): Row => ({ ...row, now }))}
        keyOf={({ id }) => id}
        none=""
      />
    </Panel>
  );
}

const columns: readonly Column<Row>[] = [
  {
    title: 'Held since',
    cell: ({ id, since }) => <Link to={conversationPlace(id)}>{moment(since)}</Link>,
  },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  { title: 'Waiting', number: true, cell: ({ waiting }) => count(waiting) },
  { title: 'Goes back', cell: ({ untilAt, now }) => ahead(untilAt, now) },
];
