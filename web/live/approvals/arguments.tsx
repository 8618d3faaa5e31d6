import { useId } from 'react';
import type { ApprovalText } from '../../../src/domain/approval.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { laidOut } from './approval-words.ts';

/** The exact arguments of a call: the decider sees all of them. */
export function Arguments({ of: { tool, arguments: given } }: { readonly of: ApprovalText }) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <p id={id} className="text-sm text-soft">
        <code>
          <AsWritten text={tool} />
        </code>{' '}
        with
      </p>
      <div
        role="group"
        aria-labelledby={id}
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-md border border-line bg-card px-3 py-2 font-mono text-sm wrap-anywhere whitespace-pre-wrap"
      >
        <AsWritten text={laidOut(given)} lines />
      </div>
    </div>
  );
}
