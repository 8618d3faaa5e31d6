import { channelName } from '../../../src/channels/registry.ts';
import { useEffect, useRef, useState } from 'react';
import type { DeferredGroup } from '../../../src/domain/records.ts';
import { registeredNameOf, type ChannelKey } from '../../../src/domain/ids.ts';
import { Asking } from '../../kit/asking.tsx';
import { Button } from '../../kit/button.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State } from '../../kit/state.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { useToken } from '../../kit/token.ts';
import { ahead, ago, count, moment, some, spaced } from '../../kit/words.ts';
import { OperatorOnly } from '../operator-only.tsx';
import { failingReceivers, receiverCause, receiverTone } from '../overview/receivers.ts';
import { useStatus } from '../status.tsx';
import { useRefresh } from '../use-refresh.ts';
import { tryGroup, type Tried } from './try-now.ts';

type Props = {
  /** Empty: every channel. */
  readonly channel: string;
  readonly now: number;
};

/** Why replies wait for another try, the most frequent reason first, and buttons to try now. */
export function Groups({ channel, now }: Props) {
  const { value, refused, again } = useAsked<{ readonly rows: readonly DeferredGroup[] }>(
    'deliveries/reasons',
  );
  useRefresh(['reply_delivered', 'delivery_failed', 'operator_wrote'], again);
  const rows = (value?.rows ?? []).filter((group) => isOn(group, channel));
  const status = useStatus().value;
  // A receiver has the registered name of its channel: all bots of that name are one receiver.
  const failing = (status === null ? [] : failingReceivers(status)).filter(
    (one) => channel === '' || one.channel === registeredNameOf(channel as ChannelKey),
  );
  // A group that is being tried stays visible, also when no reply of it waits any more.
  const [begun, setBegun] = useState<readonly DeferredGroup[]>([]);
  const gone = begun.filter((one) => !rows.some((row) => keyOf(row) === keyOf(one)));
  const onBegin = (group: DeferredGroup): void =>
    setBegun((all) => [...all.filter((one) => keyOf(one) !== keyOf(group)), group]);
  return (
    <Panel title="Why replies wait">
      <Refusal refused={refused} />
      {failing.map((one) => (
        <p key={one.channel}>
          <State tone={receiverTone(one)}>{receiverCause(one, now)}</State>
        </p>
      ))}
      {value === null && refused === null ? <Asking /> : null}
      {value !== null && rows.length === 0 ? (
        <p className="text-soft">
          {failing.length === 0 ? <State tone="good">Nothing failed.</State> : null} No reply waits
          for another try.
        </p>
      ) : null}
      {rows.length === 0 ? null : <OperatorOnly may="try them now">{null}</OperatorOnly>}
      <ul className="grid gap-3 lg:grid-cols-2">
        {[...rows, ...gone.map((one) => ({ ...one, count: 0 }))].map((group) => (
          <Group key={keyOf(group)} group={group} now={now} onBegin={onBegin} />
        ))}
      </ul>
    </Panel>
  );
}

const keyOf = ({ channel, failure, status }: DeferredGroup): string =>
  `${channel} ${failure} ${status}`;

const isOn = (group: DeferredGroup, channel: string): boolean =>
  channel === '' || group.channel === channel || registeredNameOf(group.channel) === channel;

type GroupProps = {
  readonly group: DeferredGroup;
  readonly now: number;
  readonly onBegin: (group: DeferredGroup) => void;
};

function Group({ group, now, onBegin }: GroupProps) {
  const { channel, failure, status, oldestAt, nextAt } = group;
  const isOperator = useToken((state) => state.token) !== null;
  return (
    <li className="flex flex-col gap-1 rounded-md border border-line bg-card px-4 py-3">
      <h3 className="flex flex-wrap items-baseline gap-x-3">
        <span className="text-2xl font-semibold tabular-nums">{count(group.count)}</span>
        <span>
          {spaced(failure)}
          {status === null ? '' : ` (status ${status})`}
        </span>
        <span className="text-sm font-normal text-soft">{channelName(channel)}</span>
      </h3>
      {group.count === 0 ? (
        <p className="text-soft">None waits for this reason any more.</p>
      ) : (
        <p className="text-soft">
          The oldest is of <span title={moment(oldestAt)}>{ago(oldestAt, now)}</span>; the next try
          is {ahead(nextAt, now)}.
        </p>
      )}
      {isOperator ? <TryAll group={group} onBegin={onBegin} /> : null}
    </li>
  );
}

type Stage =
  | { readonly kind: 'idle' }
  | { readonly kind: 'trying'; readonly all: number; readonly moved: number }
  | { readonly kind: 'tried'; readonly tried: Tried };

function TryAll({ group, onBegin }: Pick<GroupProps, 'group' | 'onBegin'>) {
  const [stage, setStage] = useState<Stage>({ kind: 'idle' });
  const stopping = useRef<AbortController | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const start = async (): Promise<void> => {
    const stop = new AbortController();
    stopping.current = stop;
    onBegin(group);
    const all = group.count;
    setStage({ kind: 'trying', all, moved: 0 });
    const onStep = (moved: number): void =>
      setStage({ kind: 'trying', all: Math.max(all, moved), moved });
    setStage({ kind: 'tried', tried: await tryGroup(group, stop.signal, onStep) });
  };
  const isTrying = stage.kind === 'trying';
  return (
    <div className="mt-1 flex flex-wrap items-center gap-3">
      {isTrying ? (
        <Button small onClick={() => stopping.current?.abort()}>
          Stop
        </Button>
      ) : (
        <Button small disabled={group.count === 0} onClick={() => void start()}>
          Try all {count(group.count)} now
        </Button>
      )}
      <span role="status">{saidOf(stage)}</span>
      {stage.kind === 'tried' && stage.tried.stopped !== null ? (
        <Notice tone="bad">{stage.tried.stopped}</Notice>
      ) : null}
    </div>
  );
}

const again = 'What fails waits here again.';

function saidOf(stage: Stage): string {
  switch (stage.kind) {
    case 'idle':
      return '';
    case 'trying':
      return `${count(stage.moved)} of ${count(stage.all)} are on their way …`;
    case 'tried':
      return `${some(stage.tried.moved, 'reply was', 'replies were')} sent on the way. ${again}`;
    default:
      return stage satisfies never;
  }
}
