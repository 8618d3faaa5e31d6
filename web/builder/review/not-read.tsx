import type { Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';

type Props = { readonly refused: Refused | null; readonly again: () => void };

/**
 * Why something could not be read, and the way to it; nothing where all is well, or where signing
 * in again is what helps.
 */
export function NotRead({ refused, again }: Props) {
  if (refused === null || refused.code === 'given_up' || refused.status === 401) return null;
  return (
    <Notice tone="bad">
      <p>{refused.detail}</p>
      <Button small className="mt-2" onClick={again}>
        Try again
      </Button>
    </Notice>
  );
}
