import type { ReactNode } from 'react';
import type { Refused } from './api.ts';

type Tone = 'good' | 'wait' | 'bad' | 'plain';

const looks: Readonly<Record<Tone, string>> = {
  good: 'border-good bg-good-ground',
  wait: 'border-wait bg-wait-ground',
  bad: 'border-bad bg-bad-ground',
  plain: 'border-line bg-card',
};

/** A few sentences set apart. A notice that is `bad` or `wait` is read out when it appears. */
export function Notice({
  tone = 'plain',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}) {
  const role = tone === 'bad' ? 'alert' : tone === 'wait' ? 'status' : undefined;
  return (
    <div role={role} className={`rounded-md border-s-4 px-3 py-2 ${looks[tone]}`}>
      {children}
    </div>
  );
}

/** What the service answered instead; nothing where all is well, or signing in is what helps. */
export function Refusal({ refused }: { readonly refused: Refused | null }) {
  if (refused === null || refused.code === 'given_up' || refused.status === 401) return null;
  return <Notice tone="bad">{refused.detail}</Notice>;
}
