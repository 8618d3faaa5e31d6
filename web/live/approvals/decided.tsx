import { useEffect, useRef } from 'react';
import type { Page } from '../../../src/domain/page.ts';
import type { ApprovalRow, Verdict } from '../../../src/domain/approval.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { focusOn } from '../../kit/focus.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { upper } from '../../kit/words.ts';
import { sayFate, stateWords } from './approval-words.ts';

/** What this operator decided. */
export type Decision = {
  readonly id: string;
  readonly tool: string;
  readonly verdict: Exclude<Verdict, 'expired'>;
};

const everyMs = 1_500;
/** By then a dialog has gone, and has given the focus back to a row that goes, too. */
const framesLeft = 3;

/** What was decided last, and what becomes of it; it takes the focus, since its row is gone. */
export function Decided({ decision: { id, tool, verdict } }: { readonly decision: Decision }) {
  const place = useRef<HTMLParagraphElement>(null);
  useEffect(() => takeFocus(() => place.current), []);
  const { value } = useAsked<Page<ApprovalRow>>(`approvals?state=${verdict}&limit=100`, everyMs);
  const row = value?.rows.find((one) => one.id === id) ?? { settledAt: null, outcome: null };
  return (
    <p
      ref={place}
      role="status"
      className="rounded-md border-s-4 border-good bg-good-ground px-3 py-2 wrap-anywhere"
    >
      {upper(stateWords[verdict])}:{' '}
      <code>
        <AsWritten text={tool} />
      </code>
      ; {sayFate(verdict, row)}.
    </p>
  );
}

function takeFocus(place: () => HTMLElement | null): () => void {
  let asked = 0;
  const look = (frames: number): void => {
    if (frames === 0) return focusOn(place());
    asked = requestAnimationFrame(() => look(frames - 1));
  };
  look(framesLeft);
  return () => cancelAnimationFrame(asked);
}
