import type { ReactNode } from 'react';
import { Button } from '../kit/button.tsx';
import { useToken } from '../kit/token.ts';
import { askToSignIn } from './operator.tsx';

type Props = {
  /** What is behind it, as the rest of "Only an operator may …": `see the audit`. */
  readonly may: string;
  readonly children: ReactNode;
};

/** What needs the bearer; without one, the way to it. */
export function OperatorOnly({ may, children }: Props) {
  const token = useToken((state) => state.token);
  if (token !== null) return children;
  return (
    <p className="flex flex-wrap items-center gap-2 text-soft">
      Only an operator may {may}.
      <Button small onClick={askToSignIn}>
        Sign in
      </Button>
    </p>
  );
}
