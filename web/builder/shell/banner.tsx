import type { ReactNode } from 'react';
import { Notice } from '../../kit/notice.tsx';

type Props = {
  readonly tone?: 'good' | 'wait';
  readonly words: ReactNode;
  /** Buttons for the next step. */
  readonly children?: ReactNode;
};

/** A short message above the whole builder, and buttons beside it. */
export function Banner({ tone = 'wait', words, children }: Props) {
  return (
    <div className="px-3 pt-3">
      <Notice tone={tone}>
        <div className="flex flex-wrap items-center gap-2">
          <p className="min-w-0 flex-1 basis-64 break-words">{words}</p>
          {children}
        </div>
      </Notice>
    </div>
  );
}
