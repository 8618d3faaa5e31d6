import type { ReactNode } from 'react';
import { Notice } from '../../kit/notice.tsx';

type Props = {
  readonly tone?: 'good' | 'wait';
  readonly words: ReactNode;
  /** What can be done about it. */
  readonly children?: ReactNode;
};

/** A few words over the whole builder, and buttons beside them. */
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
