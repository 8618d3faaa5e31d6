import type { DeadLetterReason } from '../../../src/domain/story.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Button } from '../../kit/button.tsx';
import { Link } from '../../kit/link.tsx';
import { Refusal } from '../../kit/notice.tsx';
import type { Place } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { count, spaced, upper } from '../../kit/words.ts';
import { adviceOn, boxWords, groupsOf, type Group, type Narrowing } from './letter-words.ts';
import type { Asked } from '../../kit/use-asked.ts';
import type { Wish } from './moving.tsx';

type Props = {
  readonly asked: Asked<{ readonly rows: readonly DeadLetterReason[] }>;
  readonly narrowing: Narrowing;
  /** null: no letter can be moved here. */
  readonly onWish: ((wish: Wish) => void) | null;
};

/** The reasons of dead letters, the most frequent first, each with its actions. */
export function Reasons({ asked: { value, refused }, narrowing, onWish }: Props) {
  const groups = groupsOf(value?.rows ?? []);
  return (
    <>
      <Refusal refused={refused} />
      {value === null && refused === null ? <Asking /> : null}
      {value !== null && groups.length === 0 ? (
        <p className="text-soft">
          <State tone="good">None.</State> Everything that was accepted was answered, and every
          reply delivered, or is still on its way.
        </p>
      ) : null}
      <ul className="grid gap-3 lg:grid-cols-2">
        {groups.map((group) => (
          <Reason
            key={`${group.box} ${group.kind}`}
            group={group}
            isChosen={narrowing.reason === group.kind && narrowing.box === group.box}
            onWish={onWish}
          />
        ))}
      </ul>
    </>
  );
}

type ReasonProps = {
  readonly group: Group;
  readonly isChosen: boolean;
  readonly onWish: Props['onWish'];
};

function Reason({ group, isChosen, onWish }: ReasonProps) {
  const { kind, box, statuses, detail } = group;
  const chosen: Place = { view: 'dead-letters', reason: kind, box };
  const look = isChosen ? 'border-accent' : 'border-line';
  return (
    <li className={`flex flex-col gap-1 rounded-md border bg-card px-4 py-3 ${look}`}>
      <h3 className="flex flex-wrap items-baseline gap-x-3">
        <span className="text-2xl font-semibold tabular-nums">{count(group.count)}</span>
        <span>
          {spaced(kind)}
          {statuses.length === 0 ? '' : ` (status ${statuses.join(', ')})`}
        </span>
        <span className="text-sm font-normal text-soft">{boxWords[box]}</span>
      </h3>
      <p className="wrap-anywhere">
        <AsWritten text={upper(detail)} />.
      </p>
      <p className="text-soft">{adviceOn(group)}</p>
      <p className="mt-1 flex flex-wrap items-center gap-3">
        {isChosen ? (
          <Link to={{ view: 'dead-letters' }}>Show every reason</Link>
        ) : (
          <Link to={chosen}>Show only these</Link>
        )}
        {onWish === null ? null : (
          <Button small onClick={() => onWish(ofAll(group))}>
            Replay all {count(group.count)} …
          </Button>
        )}
      </p>
    </li>
  );
}

const ofAll = ({ kind, box, count: number }: Group): Wish => ({
  move: 'replay',
  number,
  boxes: [box],
  which: { reason: kind, box, message: null },
});
