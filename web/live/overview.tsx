import type { ChannelStatus, Status } from '../../src/admin/admin.ts';
import { Refusal } from '../kit/notice.tsx';
import { Panel } from '../kit/panel.tsx';
import { State, toneOf } from '../kit/state.tsx';
import { Table, type Column } from '../kit/table.tsx';
import { useAsked } from '../kit/use-asked.ts';
import { ago, length, spaced } from '../kit/words.ts';

const everyMs = 2_000;

/** How the service is, at a glance. */
export function Overview() {
  const { value: status, refused } = useAsked<Status>('status', everyMs);
  return (
    <>
      <Refusal refused={refused} />
      {status === null ? <p className="text-soft">Asking …</p> : <Shown status={status} />}
    </>
  );
}

function Shown({ status }: { readonly status: Status }) {
  return (
    <>
      <p className="text-lg">
        <State tone={toneOf(status.status)}>{status.reason ?? 'Working'}</State>
        <span className="ms-3 text-soft">up for {length(status.uptimeMs)}</span>
      </p>
      <Panel title="Channels">
        <Table
          name="Channels"
          columns={channelColumns}
          rows={status.channels}
          keyOf={({ type }) => type}
          none="No channel is configured."
        />
      </Panel>
    </>
  );
}

const channelColumns: readonly Column<ChannelStatus>[] = [
  { title: 'Channel', cell: ({ type, brain }) => `${type}${brain === null ? '' : ` → ${brain}`}` },
  {
    title: 'State',
    cell: ({ state, reason }) => (
      <State tone={toneOf(state)}>{reason === null ? spaced(state) : reason}</State>
    ),
  },
  { title: 'Since', cell: ({ since }) => ago(since) },
];
