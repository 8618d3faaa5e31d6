import { useState } from 'react';
import type { Applied, ConfigInUse, ConfigKept } from '../../../src/config/config-control.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Diff } from '../../kit/diff.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { moment, sentence } from '../../kit/words.ts';
import { NotRestored } from './not-restored.tsx';

type Restored = Omit<Extract<Applied, { kind: 'applied' }>, 'kind'>;

type Stage =
  | { readonly kind: 'looking' }
  | { readonly kind: 'restoring' }
  | { readonly kind: 'restored'; readonly result: Restored }
  | { readonly kind: 'refused'; readonly refused: Refused };

type Props = {
  readonly revision: string;
  readonly now: ConfigInUse;
  readonly onClose: () => void;
  readonly onRestored: () => void;
};

/** An earlier configuration compared with the one in use, and a button that restores it. */
export function Earlier({ revision, now: latest, onClose, onRestored }: Props) {
  // A restore replaces exactly the compared configuration: if another came into use meanwhile, the
  // service refuses.
  const [now] = useState(latest);
  const path = `config/history/${encodeURIComponent(revision)}`;
  const { value: kept, refused } = useAsked<ConfigKept>(path);
  const [stage, setStage] = useState<Stage>({ kind: 'looking' });
  const restore = async (): Promise<void> => {
    setStage({ kind: 'restoring' });
    const question = { method: 'POST', ifMatch: now.revision } as const;
    const answer = await ask<Restored>(`${path}/restore`, question);
    if (answer.kind === 'refused') setStage({ kind: 'refused', refused: answer });
    else setStage({ kind: 'restored', result: answer.value });
    onRestored();
  };
  const isOver = stage.kind === 'restored' || stage.kind === 'refused';
  return (
    <Dialog
      open
      wide
      title={`Go back to ${revision}?`}
      onClose={onClose}
      actions={
        isOver ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button onClick={onClose}>Leave as it is</Button>
            <Button
              kind="main"
              disabled={kept === null || stage.kind === 'restoring'}
              onClick={() => void restore()}
            >
              {stage.kind === 'restoring' ? 'Restoring …' : 'Restore'}
            </Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <Refusal refused={refused} />
        <Outcome stage={stage} />
        {kept === null || isOver ? null : (
          <>
            <p>
              What would change from {now.revision}, which is in use, to the one of{' '}
              {moment(kept.savedAt)}. It is checked first, and taken into use while svc runs; if it
              cannot be, the one in use stays.
            </p>
            <Diff name="What would change" before={now.text} after={kept.text} />
          </>
        )}
      </div>
    </Dialog>
  );
}

function Outcome({ stage }: { readonly stage: Stage }) {
  switch (stage.kind) {
    case 'looking':
    case 'restoring':
      return null;
    case 'refused':
      return <NotRestored refused={stage.refused} />;
    case 'restored':
      return <Done result={stage.result} />;
    default:
      return stage satisfies never;
  }
}

function Done({ result: { revision, changes, warnings } }: { readonly result: Restored }) {
  return (
    <div role="status" className="flex flex-col gap-2">
      <Notice tone="good">
        <p>Revision {revision} is in use now.</p>
        <ul className="list-disc ps-5">
          {changes.map((change) => (
            <li key={change}>
              <AsWritten text={change} />
            </li>
          ))}
        </ul>
      </Notice>
      {warnings.map(({ path, message, remedy }) => (
        <Notice key={`${path} ${message}`} tone="wait">
          {path === '' ? '' : `${path}: `}
          {sentence(message)} {remedy}
        </Notice>
      ))}
    </div>
  );
}
