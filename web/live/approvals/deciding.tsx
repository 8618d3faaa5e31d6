/** The dialog that confirms the decision about a tool call. */
import { useState } from 'react';
import type { ApprovalText, Verdict, ApprovalRow } from '../../../src/domain/approval.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { visible } from '../../kit/visible.ts';
import { moment, upper } from '../../kit/words.ts';
import { describeDecider, stateWords, describeFate } from './approval-words.ts';
import { Arguments } from './arguments.tsx';
import type { Page } from '../../../src/domain/page.ts';
import { useAsked } from '../../kit/use-asked.ts';

export type Wish = { readonly approval: ApprovalText; readonly word: 'approve' | 'refuse' };

type Props = {
  readonly wish: Wish;
  readonly onClose: () => void;
  /** Called when the call no longer waits, whoever decided it. */
  readonly onDecided: () => void;
};

type Stage =
  | { readonly kind: 'asking'; readonly refused: Refused | null }
  | { readonly kind: 'deciding' }
  | { readonly kind: 'decided'; readonly verdict: Exclude<Verdict, 'expired'> }
  /** Somebody else decided first; null: the service no longer has the call. */
  | { readonly kind: 'late'; readonly approval: ApprovalText | null };

const words = {
  approve: {
    title: (tool: string) => `Run ${tool}?`,
    what: 'It runs once, with exactly this, and the model goes on with what comes of it.',
    act: 'Approve',
  },
  refuse: {
    title: (tool: string) => `Refuse ${tool}?`,
    what: 'It does not run. The model is told, and answers the person.',
    act: 'Refuse',
  },
} as const;

/** Confirms a decision: shows the call that will or will not run, and then its result. */
export function Deciding({ wish, onClose, onDecided }: Props) {
  const { approval, word } = wish;
  const [stage, setStage] = useState<Stage>({ kind: 'asking', refused: null });
  const { title, what, act } = words[word];
  const isOpen = stage.kind === 'asking' || stage.kind === 'deciding';
  const decide = async (): Promise<void> => {
    // The button is not disabled meanwhile, since it would lose the focus.
    if (stage.kind === 'deciding') return;
    setStage({ kind: 'deciding' });
    const next = await askFor(wish);
    setStage(next);
    if (next.kind !== 'asking') onDecided();
  };
  return (
    <Dialog
      open
      title={title(visible(approval.tool))}
      onClose={onClose}
      actions={
        <>
          {isOpen ? <Button onClick={onClose}>Let it wait</Button> : null}
          {/* One button, so that the focus stays on it. */}
          <Button
            kind={!isOpen ? 'plain' : word === 'approve' ? 'main' : 'danger'}
            onClick={isOpen ? () => void decide() : onClose}
          >
            {!isOpen ? 'Done' : stage.kind === 'deciding' ? 'Telling svc …' : act}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2">
        <p>
          The brain <AsWritten text={approval.brain} /> asks for it. {isOpen ? what : null}
        </p>
        <Arguments of={approval} />
        <Result stage={stage} id={approval.id} />
      </div>
    </Dialog>
  );
}

async function askFor({ approval: { id }, word }: Wish): Promise<Stage> {
  const path = `approvals/${encodeURIComponent(id)}`;
  const question = { method: 'POST' } as const;
  const answer = await ask<{ readonly result: 'approved' | 'refused' }>(
    `${path}/${word}`,
    question,
  );
  if (answer.kind === 'ok') return { kind: 'decided', verdict: answer.value.result };
  if (answer.code === 'not_found') return { kind: 'late', approval: null };
  if (answer.code !== 'not_waiting') return { kind: 'asking', refused: answer };
  const other = await ask<ApprovalText>(path);
  return { kind: 'late', approval: other.kind === 'ok' ? other.value : null };
}

function Result({ stage, id }: { readonly stage: Stage; readonly id: string }) {
  switch (stage.kind) {
    case 'asking':
      return <Refusal refused={stage.refused} />;
    case 'deciding':
      return null;
    case 'decided':
      return <Fate id={id} verdict={stage.verdict} />;
    case 'late':
      return <Other approval={stage.approval} />;
    default:
      return stage satisfies never;
  }
}

function Other({ approval }: { readonly approval: ApprovalText | null }) {
  if (approval === null) {
    return <Notice tone="wait">It does not wait any more: nothing was changed.</Notice>;
  }
  const { state, decidedBy, decidedAt } = approval;
  if (decidedBy === null) {
    return <Notice tone="wait">Its time was over before: nothing was changed.</Notice>;
  }
  return (
    <Notice tone="wait">
      Somebody was first: {moment(decidedAt)} it was {stateWords[state]} by{' '}
      <AsWritten text={describeDecider(decidedBy)} />.
    </Notice>
  );
}

const everyMs = 1_500;

type FateProps = { readonly id: string; readonly verdict: Exclude<Verdict, 'expired'> };

/** The result of a call that was just decided, read from the list, which holds no text. */
function Fate({ id, verdict }: FateProps) {
  const [isOver, setIsOver] = useState(false);
  const path = `approvals?state=${verdict}&limit=100`;
  const { value } = useAsked<Page<ApprovalRow>>(path, isOver ? null : everyMs);
  const row = value?.rows.find((one) => one.id === id) ?? { settledAt: null, outcome: null };
  if (row.settledAt !== null && !isOver) setIsOver(true);
  return (
    <div role="status">
      <Notice tone="good">
        {upper(stateWords[verdict])}: {describeFate(verdict, row)}.
      </Notice>
    </div>
  );
}
