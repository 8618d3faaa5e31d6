import type { ReactNode } from 'react';

type Props = { readonly when?: boolean; readonly children: ReactNode };

/** Takes the colours from what was told before and may not hold now. A text above says why. */
export function OfBefore({ when = true, children }: Props) {
  return <div className={`flex flex-col gap-6 ${when ? 'of-before' : ''}`}>{children}</div>;
}
