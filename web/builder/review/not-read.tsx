import type { Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';

type Props = { readonly refused: Refused | null; readonly again: () => void };

/**
 * Why a read failed, and a retry button; nothing if no read failed, or if a new sign-in is the
 * remedy.
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
