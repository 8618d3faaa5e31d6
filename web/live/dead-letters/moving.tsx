/** The dialog that replays or discards dead letters. */
import { useEffect, useRef, useState } from 'react';
import { AsWritten } from '../../kit/as-written.tsx';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { TextField } from '../../kit/field.tsx';
import { Notice } from '../../kit/notice.tsx';
import { count, some } from '../../kit/words.ts';
import { describeFates, type Fate, type Mover } from './fates.ts';
import { replayWords, type Box, type Move, type Narrowing } from './letter-words.ts';
import { gatherLetters, moveLetters, type Moved } from './move-letters.ts';
import { useFollowing } from './use-following.ts';

/** An action and its letters: the named ones, oldest first, or all that match. */
export type Wish = {
  readonly move: Move;
  readonly number: number;
  readonly boxes: readonly Box[];
  readonly which: readonly Mover[] | Narrowing;
};

type Stage =
  | { readonly kind: 'asking' }
  | { readonly kind: 'moving'; readonly moved: Moved | null }
  | { readonly kind: 'moved'; readonly moved: Moved }
  | { readonly kind: 'unread'; readonly detail: string };

type Props = { readonly wish: Wish; readonly onClose: () => void; readonly onMoved: () => void };

const charactersMax = 200;

/** Confirms an action, runs it, and shows the result. */
export function MovingDialog({ wish, onClose, onMoved }: Props) {
  const { move, number, boxes, which } = wish;
  const [reason, setReason] = useState('');
  const [stage, setStage] = useState<Stage>({ kind: 'asking' });
  const { fates, follow } = useFollowing();
  const stopping = useRef<AbortController | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const start = async (): Promise<void> => {
    const stop = new AbortController();
    stopping.current = stop;
    setStage({ kind: 'moving', moved: null });
    const letters = isNarrowing(which) ? await gatherLetters(which, stop.signal) : which;
    if (typeof letters === 'string') return setStage({ kind: 'unread', detail: letters });
    const onStep = (moved: Moved): void => setStage({ kind: 'moving', moved });
    const onEach = move === 'replay' ? follow : (): void => undefined;
    const moved = await moveLetters({
      move,
      letters,
      reason: reason.trim(),
      signal: stop.signal,
      onStep,
      onMoved: onEach,
    });
    setStage({ kind: 'moved', moved });
    onMoved();
  };
  const stop = (): void => stopping.current?.abort();
  const what = some(number, 'dead letter');
  return (
    <Dialog
      open
      title={move === 'replay' ? `Replay ${what}?` : `Discard ${what}?`}
      onClose={onClose}
      actions={
        <Actions
          stage={stage}
          wish={wish}
          onStart={() => void start()}
          onStop={stop}
          onClose={onClose}
        />
      }
    >
      {stage.kind === 'asking' ? (
        <div className="flex flex-col gap-3">
          {move === 'replay' ? <OfReplay boxes={boxes} number={number} /> : <OfDiscard />}
          {move === 'discard' ? (
            <TextField
              id="discard-reason"
              label="Why (for the audit)"
              value={reason}
              maxLength={charactersMax}
              onChange={(event) => setReason(event.target.value)}
              hint="May stay empty. It is kept for a year: write nothing that somebody said."
            />
          ) : null}
        </div>
      ) : (
        <Progress stage={stage} move={move} fates={fates} />
      )}
    </Dialog>
  );
}

const isNarrowing = (which: Wish['which']): which is Narrowing => !Array.isArray(which);

type ActionsProps = {
  readonly stage: Stage;
  readonly wish: Wish;
  readonly onStart: () => void;
  readonly onStop: () => void;
  readonly onClose: () => void;
};

function Actions({ stage, wish: { move, number }, onStart, onStop, onClose }: ActionsProps) {
  switch (stage.kind) {
    case 'asking':
      return (
        <>
          <Button onClick={onClose}>Leave as it is</Button>
          <Button kind={move === 'replay' ? 'main' : 'danger'} onClick={onStart}>
            {move === 'replay' ? 'Replay' : 'Discard'} {count(number)}
          </Button>
        </>
      );
    case 'moving':
      return <Button onClick={onStop}>Stop</Button>;
    case 'moved':
    case 'unread':
      return <Button onClick={onClose}>Close</Button>;
    default:
      return stage satisfies never;
  }
}

function OfReplay({ boxes, number }: { readonly boxes: readonly Box[]; readonly number: number }) {
  return (
    <>
      {boxes.map((box) => (
        <p key={box}>{replayWords[box]}</p>
      ))}
      {number > 1 ? <p>The oldest goes first, so that they keep their order.</p> : null}
      <p className="text-soft">
        If what stopped it still stands, it becomes a dead letter again; nothing is lost by trying.
      </p>
    </>
  );
}

function OfDiscard() {
  return (
    <p>
      It is deleted for good, text and all. Nobody is told, and nothing can bring it back; the audit
      keeps that it was done.
    </p>
  );
}

type ProgressProps = {
  readonly stage: Stage;
  readonly move: Move;
  /** The results of the replayed letters. */
  readonly fates: readonly Fate[];
};

function Progress({ stage, move, fates }: ProgressProps) {
  if (stage.kind === 'unread') return <Notice tone="bad">{stage.detail}</Notice>;
  if (stage.kind === 'asking') return null;
  const { moved } = stage;
  const did = move === 'replay' ? 'will be tried again' : 'are deleted';
  const said =
    moved === null ? 'Looking for them …' : `${count(moved.done)} of ${count(moved.all)} ${did}.`;
  return (
    <div className="flex flex-col gap-2">
      <p role="status">{said}</p>
      {fates.length === 0 ? null : (
        <p role="status" className="wrap-anywhere">
          <AsWritten text={`${describeFates(fates)}.`} />
        </p>
      )}
      {moved?.stopped ? <Notice tone="bad">{moved.stopped}</Notice> : null}
      {moved === null || moved.faults.length === 0 ? null : (
        <Notice tone="wait">
          <ul>
            {moved.faults.slice(0, 20).map(({ id, detail }) => (
              <li key={id} className="wrap-anywhere">
                <code>{id}</code>: {detail}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </div>
  );
}
