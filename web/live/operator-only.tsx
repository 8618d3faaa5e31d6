import type { ReactNode } from 'react';
import { Button } from '../kit/button.tsx';
import { useToken } from '../kit/token.ts';
import { askToSignIn, useWayIn } from '../kit/ways-in.tsx';

type Props = {
  /** The end of the sentence "Only an operator may …": `see the audit`. */
  readonly may: string;
  readonly children: ReactNode;
};

/** Shows content that needs the bearer; without a bearer, a sign-in button. */
export function OperatorOnly({ may, children }: Props) {
  const token = useToken((state) => state.token);
  const wayIn = useWayIn();
  if (token !== null) return children;
  return (
    <p className="flex flex-wrap items-center gap-2 text-soft">
      Only an operator may {may}.
      <Button small onClick={askToSignIn}>
        {wayIn}
      </Button>
    </p>
  );
}
