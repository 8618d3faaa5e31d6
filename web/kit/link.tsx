import type { ReactNode } from 'react';
import { useLink, type Place } from './place.ts';

type Props = {
  readonly to: Place;
  /** `page`: the link to the shown page. `true`: the link to the group of the shown page. */
  readonly current?: 'page' | 'true' | undefined;
  readonly className?: string;
  readonly children: ReactNode;
};

/** A link to another place of the same page. */
export function Link({ to, current, className = '', children }: Props) {
  return (
    <a {...useLink(to)} aria-current={current} className={className}>
      {children}
    </a>
  );
}
