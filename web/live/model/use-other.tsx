import { useState } from 'react';
import type { Applied, ConfigInUse } from '../../../src/config/config-control.ts';
import { ask, longLimitMs, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Diff } from '../../kit/diff.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { goTo } from '../../kit/place.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { NotRestored } from '../config/not-restored.tsx';
import { withOther } from './in-config.ts';

type Props = {
  readonly name: string;
  readonly modelId: string;
  readonly onClose: () => void;
};

type Stage =
  | { readonly kind: 'looking' }
  | { readonly kind: 'applying' }
  | { readonly kind: 'applied' }
  | { readonly kind: 'refused'; readonly refused: Refused };

type Taken = Omit<Extract<Applied, { kind: 'applied' }>, 'kind'>;

/** Replaces a model by another one of the same runtime, after it shows the change. */
export function UseOther({ name, modelId, onClose }: Props) {
  const { value: inUse, refused } = useAsked<ConfigInUse>('config');
  const [stage, setStage] = useState<Stage>({ kind: 'looking' });
  const after = inUse === null ? null : withOther(inUse.text, name, modelId);
  const apply = async (): Promise<void> => {
    if (inUse === null || after === null) return;
    setStage({ kind: 'applying' });
    const body = after;
    const question = {
      method: 'PUT',
      body,
      ifMatch: inUse.revision,
      limitMs: longLimitMs,
    } as const;
    const answer = await ask<Taken>('config', question);
    setStage(answer.kind === 'ok' ? { kind: 'applied' } : { kind: 'refused', refused: answer });
  };
  const close = (): void => {
    onClose();
    if (stage.kind === 'applied') goTo({ view: 'model', id: otherName(name, modelId) });
  };
  const isOver = stage.kind === 'applied' || stage.kind === 'refused';
  return (
    <Dialog
      open
      wide
      title={`Use ${modelId} instead?`}
      onClose={close}
      actions={
        isOver ? (
          <Button onClick={close}>Close</Button>
        ) : (
          <>
            <Button onClick={onClose}>Leave it as it is</Button>
            <Button
              kind="main"
              disabled={after === null || stage.kind === 'applying'}
              onClick={() => void apply()}
            >
              {stage.kind === 'applying' ? 'Changing it …' : 'Use it'}
            </Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <Refusal refused={refused} />
        {stage.kind === 'refused' ? <NotRestored refused={stage.refused} /> : null}
        {stage.kind === 'applied' ? (
          <Notice tone="good">
            {modelId} is asked from now on. What stood there before is kept under Configuration.
          </Notice>
        ) : null}
        {isOver || inUse === null || after === null ? null : (
          <>
            <p>This is all that changes. It is checked first, and used at once; svc runs on.</p>
            <Diff name="What would change" before={inUse.text} after={after} />
          </>
        )}
      </div>
    </Dialog>
  );
}

const otherName = (name: string, modelId: string): string =>
  `${name.slice(0, name.indexOf('/'))}/${modelId}`;
