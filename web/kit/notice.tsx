/** Highlighted texts, and errors of the service. */
import type { ReactNode } from 'react';
import type { Refused } from './api.ts';

type Tone = 'good' | 'wait' | 'bad' | 'plain';

const looks: Readonly<Record<Tone, string>> = {
  good: 'border-good bg-good-ground',
  wait: 'border-wait bg-wait-ground',
  bad: 'border-bad bg-bad-ground',
  plain: 'border-line bg-card',
};

/** A highlighted text. Screen readers announce a `bad` or `wait` notice when it appears. */
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

/** The service's error; nothing without an error, or if a new sign-in is the remedy. */
export function Refusal({ refused }: { readonly refused: Refused | null }) {
  if (refused === null || refused.code === 'given_up' || refused.status === 401) return null;
  return <Notice tone="bad">{refused.detail}</Notice>;
}
