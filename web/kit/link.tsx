import type { ReactNode } from 'react';
import { useLink, type Place } from './place.ts';

type Props = {
  readonly to: Place;
  readonly current?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
};

/** Leads to another place of the same page. */
export function Link({ to, current = false, className = '', children }: Props) {
  return (
    <a {...useLink(to)} aria-current={current ? 'page' : undefined} className={className}>
      {children}
    </a>
  );
}
