import type { Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import { Again } from './refusal.tsx';

type Props = { readonly refused: Refused | null; readonly again: () => void };

/** Why something could not be read, and the way to it; nothing where all is well. */
export function NotRead({ refused, again }: Props) {
  if (refused === null || refused.code === 'given_up') return null;
  const isToken = refused.status === 401;
  return (
    <Notice tone="bad">
      <p>{isToken ? 'The service does not accept the token.' : refused.detail}</p>
      {isToken ? (
        <Again />
      ) : (
        <Button small className="mt-2" onClick={again}>
          Try again
        </Button>
      )}
    </Notice>
  );
}
