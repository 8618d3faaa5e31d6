/** The tables of channels and brains. */
import { NoBrain, NoChannel } from '../next-step.tsx';
import { formatModelName } from '../../../src/domain/model-words.ts';
import { channelName } from '../../../src/channels/registry.ts';
import { nameOf } from '../channels.ts';
import type {
  BacklogStatus,
  BrainStatus,
  ChannelStatus,
  Status,
} from '../../../src/admin/admin.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { State, toneOf } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { ago, count, length, spaced } from '../../kit/words.ts';
import { arrivalWords, failingReceivers, receiverTone, type FailingReceiver } from './receivers.ts';

type Now = { readonly status: Status; readonly now: number };

type ChannelRow = {
  readonly channel: ChannelStatus;
  /** The registered name. */
  readonly name: string;
  readonly waits: BacklogStatus | undefined;
  /** Its receiver, if it fails. */
  readonly failing: FailingReceiver | undefined;
  readonly now: number;
};

export function ChannelTable({ status, now }: Now) {
  const { channels, backlog } = status;
  const receivers = failingReceivers(status);
  return (
    <Table
      name="Channels"
      columns={channelColumns}
      rows={channels.map((channel) => {
        const name = nameOf(channel);
        const waits = backlog.find((one) => one.channel === name);
        const failing = receivers.find((one) => one.channel === name);
        return { channel, name, waits, failing, now };
      })}
      keyOf={({ name }) => name}
      none={<NoChannel />}
    />
  );
}

const channelColumns: readonly Column<ChannelRow>[] = [
  {
    title: 'Channel',
    cell: ({ name, channel: { type, address, addresses } }) => (
      <>
        <Link to={{ view: 'messages', channel: name }}>{channelName(name)}</Link>
        {name === type ? null : <span className="text-soft"> ({channelName(type)})</span>}
        {placesOf(address, addresses).map((place) => (
          <p key={place} className="text-soft wrap-anywhere">
            {place}
          </p>
        ))}
      </>
    ),
  },
  {
    title: 'Brain',
    cell: ({ channel: { brain } }) => (brain === null ? '–' : <AsWritten text={brain} />),
  },
  {
    title: 'State',
    cell: ({ channel: { state, reason, instance }, failing }) => (
      <>
        <State tone={toneOf(state)}>{spaced(state)}</State>
        {failing === undefined ? null : (
          <p>
            <State tone={receiverTone(failing)}>{arrivalWords(failing)}</State>
          </p>
        )}
        {typeof instance === 'number' ? <p className="text-soft">at instance {instance}</p> : null}
        {reason === null ? null : (
          <p className="text-soft">
            <AsWritten text={reason} />
          </p>
        )}
      </>
    ),
  },
  { title: 'Since', cell: ({ channel: { since }, now }) => describeAgo(since, now) },
  {
    title: 'Last heard of',
    cell: ({ channel: { lastSeenAt }, now }) => describeAgo(lastSeenAt, now),
  },
  {
    title: 'To answer',
    number: true,
    cell: ({ name, waits }) => (
      <Link to={{ view: 'messages', channel: name, state: 'waiting' }}>
        {count(waits?.inbox ?? 0)}
      </Link>
    ),
  },
  {
    title: 'To deliver',
    number: true,
    cell: ({ name, waits }) => (
      <Link to={{ view: 'deliveries', channel: name }}>{count(waits?.outbox ?? 0)}</Link>
    ),
  },
  {
    title: 'Oldest waits',
    number: true,
    cell: ({ waits, now }) => {
      const oldestAt = waits?.oldestAt ?? null;
      return oldestAt === null ? '–' : length(Math.max(0, now - oldestAt));
    },
  },
];

/** The address of each instance, if there are several. */
function placesOf(
  address: string | null,
  addresses: ChannelStatus['addresses'],
): readonly string[] {
  const all = addresses ?? [];
  if (all.length < 2) return address === null ? [] : [address];
  return all.map((one) => `${one.address} (instance ${one.instance})`);
}

const describeAgo = (at: number | null, now: number): string => (at === null ? '–' : ago(at, now));

const brainColumns: readonly Column<BrainStatus>[] = [
  {
    title: 'Brain',
    cell: ({ name }) => (
      <Link to={{ view: 'messages', brain: name }}>
        <AsWritten text={name} />
      </Link>
    ),
  },
  { title: 'Sensitivity', cell: ({ sensitivity }) => sensitivity },
  { title: 'Asks', cell: ({ dispatch }) => (dispatch === 'fanout' ? 'all at once' : 'in turn') },
  { title: 'Picks by', cell: ({ policy }) => policy },
  {
    title: 'Models',
    cell: ({ models }) => (
      <ul>
        {models.map(({ name, locality, state }) => (
          <li key={name}>
            {state === 'dropped' ? (
              <s className="text-soft">
                <AsWritten text={formatModelName(name)} />
              </s>
            ) : (
              <AsWritten text={formatModelName(name)} />
            )}{' '}
            <span className="text-soft">
              {locality}
              {state === 'dropped' ? ', dropped by the privacy filter' : ''}
            </span>
          </li>
        ))}
      </ul>
    ),
  },
];

export function BrainTable({ brains }: { readonly brains: readonly BrainStatus[] }) {
  return (
    <Table
      name="Brains"
      columns={brainColumns}
      rows={brains}
      keyOf={({ name }) => name}
      none={<NoBrain />}
    />
  );
}
