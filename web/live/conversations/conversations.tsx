import { FirstConversation } from '../next-step.tsx';
import { completionsChannel } from '../../../src/domain/ids.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { ConversationCount } from '../../../src/domain/records.ts';
import type { ConversationRow } from '../../../src/domain/story.ts';
import type { Page } from '../../../src/domain/page.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Button } from '../../kit/button.tsx';
import { useKept } from '../../kit/entry.ts';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { Link } from '../../kit/link.tsx';
import { usePlace } from '../../kit/place.ts';
import { Table, type Column } from '../../kit/table.tsx';
import { useToken } from '../../kit/token.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { ago, count, moment, ahead } from '../../kit/words.ts';
import { askToSignIn, useWayIn } from '../../kit/ways-in.tsx';
import { OperatorOnly } from '../operator-only.tsx';
import { Conversation } from './conversation.tsx';
import type { TakeoverTimes } from '../../../src/domain/takeover.ts';
import { useRefresh } from '../use-refresh.ts';
import { conversationPlace } from '../links/places.ts';

const everyMs = 10_000;
const pageRows = 100;

/** The stored conversations: counts for everybody, names and texts for the operator. */
export function Conversations() {
  const { open } = usePlace();
  const token = useToken((state) => state.token);
  const wayIn = useWayIn();
  if (open !== undefined) {
    return (
      <OperatorOnly may="see this conversation">
        <Conversation key={open} id={open} />
      </OperatorOnly>
    );
  }
  return (
    <>
      <Counts />
      {token === null ? null : <HeldNow />}
      <Panel title="Each conversation">
        {token === null ? (
          <p className="flex flex-wrap items-center gap-2 text-soft">
            Who talks with svc, only an operator may see.
            <Button small onClick={askToSignIn}>
              {wayIn} to see it
            </Button>
          </p>
        ) : (
          <List />
        )}
      </Panel>
    </>
  );
}

type CountRow = ConversationCount & { readonly now: number };

function Counts() {
  const now = useNow();
  const { value, refused } = useAsked<{ readonly rows: readonly ConversationCount[] }>(
    'conversations/counts',
    everyMs,
  );
  return (
    <Panel title="Conversations">
      <Asking value={value} refused={refused} />
      {value === null ? null : (
        <Table
          name="Conversations of each channel"
          columns={countColumns}
          rows={value.rows.map((row): CountRow => ({ ...row, now }))}
          keyOf={({ channel }) => channel}
          none={<FirstConversation />}
        />
      )}
    </Panel>
  );
}

const countColumns: readonly Column<CountRow>[] = [
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  { title: 'Conversations', number: true, cell: ({ conversations }) => count(conversations) },
  { title: 'Turns', number: true, cell: ({ turns }) => count(turns) },
  { title: 'Last turn', cell: ({ lastAt, now }) => (lastAt === null ? '–' : ago(lastAt, now)) },
];

/** Page by page, ordered by channel and id. Requests of clients are no conversations. */
function List() {
  const [after, setAfter] = useKept<string | null>('after', null);
  const query = new URLSearchParams({ limit: String(pageRows), ...(after !== null && { after }) });
  const { value, refused } = useAsked<Page<ConversationRow>>(`conversations?${query.toString()}`);
  const next = value?.next ?? null;
  return (
    <>
      <Asking value={value} refused={refused} />
      {value === null ? null : (
        <Table
          name="Conversations"
          columns={columns}
          rows={value.rows.filter(({ channel }) => channel !== completionsChannel)}
          keyOf={({ channel, conversation }) => `${channel} ${conversation}`}
          none="No conversation is kept."
        />
      )}
      <div className="flex gap-2">
        {after === null ? null : <Button onClick={() => setAfter(null)}>First page</Button>}
        {next === null ? null : <Button onClick={() => setAfter(next)}>Next page</Button>}
      </div>
    </>
  );
}

const columns: readonly Column<ConversationRow>[] = [
  {
    title: 'Conversation',
    cell: ({ id, conversation }) => (
      <Link to={{ view: 'conversations', open: id ?? '' }} className="wrap-anywhere">
        <AsWritten text={conversation} />
      </Link>
    ),
  },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  { title: 'Turns', number: true, cell: ({ turns }) => count(turns) },
  { title: 'Sessions', number: true, cell: ({ sessions }) => count(sessions) },
  { title: 'Waiting', number: true, cell: ({ waiting }) => count(waiting) },
  { title: 'First', cell: ({ firstAt }) => moment(firstAt) },
  { title: 'Last', cell: ({ lastAt }) => moment(lastAt) },
];

const heldEveryMs = 10_000;

type Held = TakeoverTimes & {
  readonly id: string;
  readonly channel: string;
  readonly waiting: number;
};
type Row = Held & { readonly now: number };

/** The conversations that operators have taken over; nothing if there are none. */
function HeldNow() {
  const now = useNow();
  const { value, refused, again } = useAsked<{ readonly rows: readonly Held[] }>(
    'holds',
    heldEveryMs,
  );
  useRefresh(['operator_wrote'], again);
  const rows = value?.rows ?? [];
  if (rows.length === 0) return <Refusal refused={refused} />;
  return (
    <Panel title="Answered by hand">
      <Table
        name="Conversations that are held"
        columns={heldColumns}
        rows={rows.map((row): Row => ({ ...row, now }))}
        keyOf={({ id }) => id}
        none=""
      />
    </Panel>
  );
}

const heldColumns: readonly Column<Row>[] = [
  {
    title: 'Held since',
    cell: ({ id, since }) => <Link to={conversationPlace(id)}>{moment(since)}</Link>,
  },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  { title: 'Waiting', number: true, cell: ({ waiting }) => count(waiting) },
  { title: 'Goes back', cell: ({ untilAt, now }) => ahead(untilAt, now) },
];
