import { useState, type ReactNode } from 'react';
import { Asking } from '../kit/asking.tsx';
import { Button } from '../kit/button.tsx';
import { bearerOf, useToken } from '../kit/token.ts';
import { useAsked } from '../kit/use-asked.ts';
import { askToSignIn, useWayIn } from '../kit/ways-in.tsx';

type Props<T> = {
  /** The API path, which is read only after a press. */
  readonly path: string;
  /** The end of the label "Reveal …": `what was said`. */
  readonly what: string;
  readonly children: (value: T) => ReactNode;
};

/** Text of people: the operator reveals it with a press, and it disappears at sign-out. */
export function Reveal<T>({ path, what, children }: Props<T>) {
  const bearer = useToken(bearerOf);
  const wayIn = useWayIn();
  if (bearer === null) {
    return (
      <p className="flex flex-wrap items-center gap-2 text-soft">
        Only an operator may see {what}.
        <Button small onClick={askToSignIn}>
          {wayIn} to see it
        </Button>
      </p>
    );
  }
  return <Hidden key={`${path} ${bearer}`} path={path} what={what} shows={children} />;
}

function Hidden<T>({
  path,
  what,
  shows,
}: Omit<Props<T>, 'children'> & { readonly shows: Props<T>['children'] }) {
  const [wanted, setWanted] = useState(false);
  const { value, refused } = useAsked<T>(wanted ? path : null);
  // One button, which stays at its place, so that it keeps the focus.
  return (
    <div className="flex flex-col gap-2">
      <Button
        small={wanted}
        aria-expanded={wanted}
        className="self-start"
        onClick={() => setWanted(!wanted)}
      >
        {wanted ? 'Hide' : 'Reveal'} {what}
      </Button>
      {wanted ? (
        <>
          <Asking value={value} refused={refused} />
          {value === null ? null : shows(value)}
        </>
      ) : null}
    </div>
  );
}
