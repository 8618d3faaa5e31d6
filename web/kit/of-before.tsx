import type { ReactNode } from 'react';

type Props = { readonly when?: boolean; readonly children: ReactNode };

/** Removes the colours from data that may be out of date. A text above explains it. */
export function OfBefore({ when = true, children }: Props) {
  return <div className={`flex flex-col gap-6 ${when ? 'of-before' : ''}`}>{children}</div>;
}
