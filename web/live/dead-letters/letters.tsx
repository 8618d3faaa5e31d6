import { channelName } from '../../../src/channels/registry.ts';
import { useState } from 'react';
import type { DeadLetter } from '../../../src/domain/story.ts';
import { Button } from '../../kit/button.tsx';
import { useKept } from '../../kit/entry.ts';
import { Table, type Column } from '../../kit/table.tsx';
import { ago, count, moment, some, spaced } from '../../kit/words.ts';
import { opener } from '../opener.tsx';
import { Letter } from './letter.tsx';
import { boxWords, type Move } from './letter-words.ts';
import type { Wish } from './moving.tsx';

type Props = {
  readonly letters: readonly DeadLetter[];
  /** null: no letter can be moved here. */
  readonly onWish: ((wish: Wish) => void) | null;
  readonly now: number;
};

/** The list of letters, to open one and to select some. */
export function Letters({ letters, onWish, now }: Props) {
  const [opened, setOpened] = useKept<string | null>('letter', null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const picked = letters.filter(({ id }) => chosen.has(id));
  const pick = (id: string): void =>
    setChosen((before) => before.symmetricDifference(new Set([id])));
  const wish = (move: Move, which: readonly DeadLetter[]): void => {
    const boxes = [...new Set(which.map(({ box }) => box))];
    onWish?.({ move, number: which.length, boxes, which: which.toReversed() });
  };
  const columns: readonly Column<DeadLetter>[] = [
    ...(onWish === null ? [] : [chooser(chosen, pick)]),
    opener({
      title: 'More',
      opened,
      keyOf: ({ id }) => id,
      nameOf: ({ id, failure }) => `${spaced(failure.kind)} ${id}`,
      onOpen: setOpened,
    }),
    ...factsAt(now),
  ];
  return (
    <>
      {onWish === null || letters.length === 0 ? null : (
        <Bar
          picked={picked.length}
          shown={letters.length}
          onAll={() => setChosen(new Set(letters.map(({ id }) => id)))}
          onNone={() => setChosen(new Set())}
          onMove={(move) => wish(move, picked)}
        />
      )}
      <Table
        name="Dead letters"
        columns={columns}
        rows={letters}
        keyOf={({ id }) => id}
        none="None here."
        renderDetail={(letter) =>
          opened === letter.id ? (
            <Letter
              letter={letter}
              onMove={onWish === null ? null : (move) => wish(move, [letter])}
            />
          ) : null
        }
      />
    </>
  );
}

function chooser(chosen: ReadonlySet<string>, pick: (id: string) => void): Column<DeadLetter> {
  return {
    title: 'Chosen',
    cell: ({ id, failure }) => (
      <input
        type="checkbox"
        className="size-6 accent-accent"
        aria-label={`Choose ${spaced(failure.kind)} ${id}`}
        checked={chosen.has(id)}
        onChange={() => pick(id)}
      />
    ),
  };
}

const factsAt = (now: number): readonly Column<DeadLetter>[] => [
  { title: 'Died', cell: ({ diedAt }) => <span title={moment(diedAt)}>{ago(diedAt, now)}</span> },
  { title: 'Channel', cell: ({ channel }) => channelName(channel) },
  { title: 'What', cell: ({ box }) => boxWords[box] },
  {
    title: 'Reason',
    cell: ({ failure: { kind, status } }) => {
      return status === null ? spaced(kind) : `${spaced(kind)} (status ${status})`;
    },
  },
  { title: 'Attempts', number: true, cell: ({ attempts }) => count(attempts) },
];

type BarProps = {
  readonly picked: number;
  readonly shown: number;
  readonly onAll: () => void;
  readonly onNone: () => void;
  readonly onMove: (move: Move) => void;
};

function Bar({ picked, shown, onAll, onNone, onMove }: BarProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      {picked < shown ? (
        <Button small onClick={onAll}>
          Choose all {count(shown)}
        </Button>
      ) : null}
      {picked > 0 ? (
        <Button small kind="quiet" onClick={onNone}>
          Choose none
        </Button>
      ) : null}
      <span className="flex-1" />
      <span role="status" className="text-sm text-soft">
        {picked === 0
          ? 'Choose some to move them together.'
          : `${some(picked, 'is', 'are')} chosen`}
      </span>
      <Button small disabled={picked === 0} onClick={() => onMove('replay')}>
        Replay …
      </Button>
      <Button small kind="danger" disabled={picked === 0} onClick={() => onMove('discard')}>
        Discard …
      </Button>
    </div>
  );
}
