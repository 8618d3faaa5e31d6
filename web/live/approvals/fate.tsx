import { useState } from 'react';
import type { ApprovalRow, Verdict } from '../../../src/domain/approval.ts';
import type { Page } from '../../../src/domain/page.ts';
import { Notice } from '../../kit/notice.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { upper } from '../../kit/words.ts';
import { describeFate, stateWords } from './approval-words.ts';

const everyMs = 1_500;

type Props = { readonly id: string; readonly verdict: Exclude<Verdict, 'expired'> };

/** What becomes of a call that was just decided; asked of the list, which tells no text. */
export function Fate({ id, verdict }: Props) {
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
