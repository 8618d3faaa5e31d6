import { toneOfOutcome } from '../outcome-tone.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { ConfigNames } from '../../../src/admin/admin.ts';
import { deliveryStates, type DeliveryRow } from '../../../src/domain/records.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { SelectField } from '../../kit/field.tsx';
import { Link } from '../../kit/link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { goTo, usePlace, type Place } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { useToken } from '../../kit/token.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { ago, ahead, count, moment, spaced } from '../../kit/words.ts';
import { useConversationColumn } from '../links/conversation-of.tsx';
import { deliveriesIn } from '../links/of-story.ts';
import { usePagesOf } from '../links/use-of-message.ts';
import { Paged } from '../paged.tsx';
import { Groups } from './groups.tsx';
import { useRefresh } from '../use-refresh.ts';
import { useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { tryReply } from './try-now.ts';

/** Replies on their way. Failed ones come first, since they may need a person. */
export function Deliveries() {
  const place = usePlace();
  const { state = '', channel = '', message } = place;
  const now = useNow();
  if (message !== undefined) return <OfMessage message={message} />;
  const isState = deliveryStates.some((one) => one === state) || state === 'any';
  return (
    <>
      <Filters place={place} />
      <Groups channel={channel} now={now} />
      {isState ? (
        <List
          key={`${state} ${channel}`}
          title={state === 'any' ? 'All deliveries' : `Deliveries: ${state}`}
          state={state === 'any' ? '' : state}
          channel={channel}
          none="No delivery is like that. “On their way”, as the state, shows what waits."
        />
      ) : (
        <>
          <List
            key={`deferred ${channel}`}
            title="To be tried again"
            state="deferred"
            channel={channel}
            none="No delivery has failed and waits for another try."
          />
          <List
            key={`waiting ${channel}`}
            title="Waiting for the first try"
            state="waiting"
            channel={channel}
            none="Nothing waits."
          />
        </>
      )}
    </>
  );
}

/** The deliveries of the replies to one message. */
function OfMessage({ message }: { readonly message: string }) {
  return (
    <>
      <p>
        <Link to={{ view: 'deliveries' }}>All deliveries</Link>
      </p>
      <List
        key={message}
        title={`Replies to message ${message}`}
        state=""
        channel=""
        message={message}
        none="No reply was made to it."
      />
    </>
  );
}

const stateChoices = [
  { value: '', label: 'on their way' },
  ...deliveryStates.map((value) => ({ value, label: value })),
  { value: 'any', label: 'any' },
];

function Filters({ place }: { readonly place: Place }) {
  const { channel = '', state = '' } = place;
  const { value: names } = useAsked<ConfigNames>('config/names');
  const known = new Set([...(names?.channels ?? []), ...(channel === '' ? [] : [channel])]);
  const set = (change: Place): void => goTo({ ...place, ...change }, { replace: true });
  return (
    <div className="flex flex-wrap items-end gap-3">
      <div className="w-44">
        <SelectField
          id="delivery-state"
          label="State"
          value={state}
          options={stateChoices}
          onChange={(event) => set({ state: event.target.value })}
        />
      </div>
      <div className="w-44">
        <SelectField
          id="delivery-channel"
          label="Channel"
          value={channel}
          options={[
            { value: '', label: 'any' },
            ...[...known].map((value) => ({ value, label: channelName(value) })),
          ]}
          onChange={(event) => set({ channel: event.target.value })}
        />
      </div>
    </div>
  );
}

type ListProps = {
  readonly title: string;
  /** Empty: any state, and any channel. */
  readonly state: string;
  readonly channel: string;
  /** Only the replies to this message. */
  readonly message?: string;
  readonly none: string;
};

function List({ title, state, channel, message, none }: ListProps) {
  const now = useNow();
  const isOperator = useToken(({ token }) => token) !== null;
  const given = Object.entries({ state, channel }).filter(([, value]) => value !== '');
  const path = `deliveries?${new URLSearchParams(given).toString()}`;
  const pages = usePagesOf<DeliveryRow>(path, message ?? null, deliveriesIn);
  const conversation = useConversationColumn<DeliveryRow>((row) => row.message);
  useRefresh(
    ['turn_finished', 'command_answered', 'reply_delivered', 'delivery_failed', 'operator_wrote'],
    pages.again,
  );
  return (
    <Panel title={title}>
      <Paged pages={pages} words={['delivery', 'deliveries']}>
        {(rows) => (
          <Table
            name={title}
            columns={[...columnsAt(now, isOperator), ...conversation]}
            rows={rows}
            keyOf={({ id }) => id}
            none={none}
          />
        )}
      </Paged>
    </Panel>
  );
}

const columnsAt = (now: number, isOperator: boolean): readonly Column<DeliveryRow>[] => [
  {
    title: 'Made',
    cell: ({ createdAt }) => <span title={moment(createdAt)}>{ago(createdAt, now)}</span>,
  },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  {
    title: 'State',
    cell: ({ state, failure }) => (
      <>
        <State tone={toneOfOutcome(state)}>{state}</State>
        {failure === null ? null : (
          <p className="text-soft">
            {spaced(failure.kind)}
            {failure.status === null ? '' : ` (status ${failure.status})`}:{' '}
            <AsWritten text={failure.detail} />
          </p>
        )}
      </>
    ),
  },
  { title: 'Attempts', number: true, cell: ({ attempts }) => count(attempts) },
  {
    title: 'Next try',
    cell: ({ id, state, nextAt }) => {
      if (state === 'delivered' || state === 'dead') return 'none';
      if (nextAt === null) return 'at its turn';
      return (
        <>
          <p title={moment(nextAt)}>{ahead(nextAt, now)}</p>
          {isOperator ? <TryOne id={id} /> : null}
        </>
      );
    },
  },
  {
    title: 'Marked',
    cell: ({ late, possibleDuplicate }) => {
      const marks = [late ? 'late' : '', possibleDuplicate ? 'may come twice' : ''];
      return marks.filter((mark) => mark !== '').join(', ') || '–';
    },
  },
  {
    title: 'Answers',
    cell: ({ message }) => {
      if (message === null) return 'not known any more';
      return <Link to={{ view: 'message', id: message }}>{message}</Link>;
    },
  },
];

type Stage = 'idle' | 'asking' | { readonly said: string };

/** A button that tries a waiting reply now. */
function TryOne({ id }: { readonly id: string }) {
  const [stage, setStage] = useState<Stage>('idle');
  const start = async (): Promise<void> => {
    setStage('asking');
    setStage({ said: (await tryReply(id)) ?? 'It is on its way.' });
  };
  return (
    <>
      <Button
        small
        disabled={stage === 'asking'}
        aria-label={`Try the reply ${id} now`}
        onClick={() => void start()}
      >
        Try now
      </Button>
      <p role="status" className="text-soft">
        {typeof stage === 'object' ? stage.said : ''}
      </p>
    </>
  );
}
