import type { Status } from '../../../src/admin/admin.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import type { Refused } from '../../kit/api.ts';
import { Link } from '../../kit/link.tsx';
import { Notice } from '../../kit/notice.tsx';
import { OfBefore } from '../../kit/of-before.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State } from '../../kit/state.tsx';
import { useNow } from '../../kit/use-now.ts';
import { count, length, moment, some } from '../../kit/words.ts';
import { useLiveEvents } from '../feed.ts';
import { concernsOf, type Concern } from './concerns.ts';
import { Figures } from './figures.tsx';
import { absenceOf, healthOf } from './health.ts';
import { ModelTable } from './model-table.tsx';
import { BrainTable, ChannelTable } from './parts.tsx';
import { useStatus } from '../status.tsx';

/** The state of the service at a glance. */
export function Overview() {
  const { value: status, answeredAt, refused, again } = useStatus();
  useLiveEvents(({ kind }) => {
    if (kind === 'channel_changed' || kind === 'plan_used') again();
  });
  if (status === null) {
    return <Asking refused={refused} />;
  }
  const isOfNow = refused === null;
  return (
    <>
      {isOfNow ? null : <Absence refused={refused} since={moment(answeredAt)} />}
      <OfBefore when={!isOfNow}>
        <Shown status={status} toldAt={isOfNow ? null : answeredAt} />
      </OfBefore>
    </>
  );
}

/** Replaces the headline when the shown status is out of date. */
function Absence({ refused, since }: { readonly refused: Refused; readonly since: string }) {
  return (
    <Notice tone="bad">
      <h2 className="text-lg">
        <State tone="bad">{absenceOf(refused, since)}</State>
      </h2>
      <p>{refused.status === 0 ? 'Is it running? ' : ''}What follows is of then.</p>
    </Notice>
  );
}

type ShownProps = {
  readonly status: Status;
  /** null: the status is current. */
  readonly toldAt: number | null;
};

function Shown({ status, toldAt }: ShownProps) {
  const clock = useNow();
  const now = toldAt ?? clock;
  const { counts } = status;
  return (
    <>
      {toldAt === null ? (
        <>
          <Headline status={status} />
          <Concerns concerns={concernsOf(status, now)} />
        </>
      ) : null}
      <Figures status={status} now={now} />
      <Panel title="Channels">
        <ChannelTable status={status} now={now} />
      </Panel>
      <Panel
        title="Models"
        aside={<span className="text-sm text-soft">Counted since the start.</span>}
      >
        <ModelTable status={status} now={now} />
      </Panel>
      <Panel title="Brains">
        <BrainTable brains={status.brains} />
      </Panel>
      <p className="text-sm text-soft">
        Since the start: {count(counts.accepted)} accepted, {count(counts.duplicates)} of them sent
        twice, {count(counts.refused)} refused, {some(counts.delivered, 'reply', 'replies')}{' '}
        delivered, {some(counts.deadLetters, 'dead letter')}.
      </p>
    </>
  );
}

function Headline({ status }: { readonly status: Status }) {
  const { uptimeMs, version, revision, plan, storage, access } = status;
  const { tone, words, move } = healthOf(status);
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
      <h2 className="text-lg">
        <State tone={tone}>
          <AsWritten text={words} />
        </State>
      </h2>
      {move === null ? null : (
        <p className="w-full">
          <AsWritten text={move} />
        </p>
      )}
      <p className="text-soft">
        up for {length(uptimeMs - (uptimeMs % 1_000))} · svc {version} · configuration{' '}
        <Link to={{ view: 'config' }}>{revision}</Link> since {moment(plan.usedAt)} ·{' '}
        {keptIn[storage]} · {access === 'operator' ? 'an operator may sign in' : 'read-only'}
      </p>
    </div>
  );
}

const keptIn: Readonly<Record<Status['storage'], string>> = {
  memory: 'kept in memory only',
  sqlite: 'kept in SQLite',
  postgres: 'kept in PostgreSQL',
};

/** The concerns that may need a person, or a note that there are none. */
function Concerns({ concerns }: { readonly concerns: readonly Concern[] }) {
  if (concerns.length === 0) return <p className="text-soft">Nothing needs you.</p>;
  return (
    <Panel title="What may need you">
      <ul className="divide-y divide-line rounded-md border border-line bg-card">
        {concerns.map(({ key, tone, what, remedy, place }) => (
          <li key={key} className="flex flex-wrap items-baseline gap-x-3 px-3 py-2">
            <State tone={tone}>{tone === 'bad' ? 'Urgent' : 'Notice'}</State>
            <span className="min-w-0 flex-1 wrap-anywhere">
              <AsWritten text={what} />{' '}
              {remedy === null ? null : (
                <span className="text-soft">
                  <AsWritten text={remedy} />
                </span>
              )}
            </span>
            {place === null ? null : <Link to={place}>Look</Link>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
