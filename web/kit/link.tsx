import type { ReactNode } from 'react';
import { useLink, type Place } from './place.ts';

type Props = {
  readonly to: Place;
  /** It is where the person is: that very page, or one of those that it stands for. */
  readonly current?: 'page' | 'true' | undefined;
  readonly className?: string;
  readonly children: ReactNode;
};

/** Leads to another place of the same page. */
export function Link({ to, current, className = '', children }: Props) {
  return (
    <a {...useLink(to)} aria-current={current} className={className}>
      {children}
    </a>
  );
}
