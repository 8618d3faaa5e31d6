import { useState } from 'react';
import type { ApprovalText } from '../../../src/domain/approval.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { visible } from '../../kit/visible.ts';
import { moment } from '../../kit/words.ts';
import { sayDecider, stateWords } from './approval-words.ts';
import { Arguments } from './arguments.tsx';
import type { Decision } from './decided.tsx';

export type Wish = { readonly approval: ApprovalText; readonly word: 'approve' | 'refuse' };

type Props = {
  readonly wish: Wish;
  /** `isOver`: it waits no more, whoever said it; `made` null: this operator decided nothing. */
  readonly onClose: (made: Decision | null, isOver: boolean) => void;
};

const words = {
  approve: {
    title: (tool: string) => `Run ${tool}?`,
    what: 'It runs once, with exactly this, and the model goes on with what comes of it.',
    act: 'Approve',
    busy: 'Approving …',
  },
  refuse: {
    title: (tool: string) => `Refuse ${tool}?`,
    what: 'It does not run. The model is told, and answers the person.',
    act: 'Refuse',
    busy: 'Refusing …',
  },
} as const;

/** Names what will run, or will not, before it is decided; says so where somebody was first. */
export function Deciding({ wish: { approval, word }, onClose }: Props) {
  const { id, tool, brain } = approval;
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused | null>(null);
  const [other, setOther] = useState<ApprovalText | null>(null);
  const path = `approvals/${encodeURIComponent(id)}`;
  const { title, what, act, busy: doing } = words[word];
  const decide = async (): Promise<void> => {
    // A button that is off while it works would lose the focus.
    if (busy) return;
    setBusy(true);
    const answer = await ask<{ readonly result: Decision['verdict'] }>(`${path}/${word}`, {
      method: 'POST',
    });
    if (answer.kind === 'ok') return onClose({ id, tool, verdict: answer.value.result }, true);
    const now = answer.code === 'not_waiting' ? await ask<ApprovalText>(path) : answer;
    setBusy(false);
    if (now.kind === 'ok') setOther(now.value);
    else setRefused(now.code === 'not_found' ? now : answer);
  };
  const isOver = other !== null || refused?.status === 404 || refused?.code === 'not_waiting';
  const close = (): void => onClose(null, isOver);
  return (
    <Dialog
      open
      title={title(visible(tool))}
      onClose={close}
      actions={
        isOver ? (
          <Button onClick={close}>Close</Button>
        ) : (
          <>
            <Button onClick={close}>Let it wait</Button>
            <Button kind={word === 'approve' ? 'main' : 'danger'} onClick={() => void decide()}>
              {busy ? doing : act}
            </Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-2">
        <p>
          The brain <AsWritten text={brain} /> asks for it. {what}
        </p>
        <Arguments of={approval} />
        <Refusal refused={refused} />
        {other === null ? null : <Other approval={other} />}
      </div>
    </Dialog>
  );
}

function Other({ approval: { state, decidedBy, decidedAt } }: { readonly approval: ApprovalText }) {
  return (
    <Notice tone="wait">
      {decidedBy === null ? (
        'Its time was over before: nothing of what you chose was done.'
      ) : (
        <>
          Somebody was first: it was {stateWords[state]} by{' '}
          <AsWritten text={sayDecider(decidedBy)} />, {moment(decidedAt)}.
        </>
      )}
    </Notice>
  );
}
