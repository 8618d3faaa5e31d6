import { useApplication } from '../kit/application.ts';
import { leave, useArrival } from '../kit/arrival.ts';
import { Button } from '../kit/button.tsx';
import { PageLink } from '../kit/page-link.tsx';
import { useToken } from '../kit/token.ts';
import { askToSignIn, useWayIn, WayIn } from '../kit/ways-in.tsx';

/** The sign-in button for actions that need the bearer: to read texts, and every change. */
export function Operator() {
  const token = useToken((state) => state.token);
  const page = useApplication((state) => state.page);
  const isHanded = useArrival(({ now }) => now.kind === 'in' && now.how === 'handed');
  const wayIn = useWayIn();
  return (
    <>
      {token === null ? (
        <Button small onClick={askToSignIn}>
          {wayIn}
        </Button>
      ) : (
        <PageLink href="/builder" className="text-sm">
          Builder
        </PageLink>
      )}
      {token === null || isHanded ? null : (
        <Button small onClick={() => leave(null)}>
          Sign out
        </Button>
      )}
      {page === null ? null : (
        <a href={page} rel="noreferrer" className="text-sm">
          This application
        </a>
      )}
      <WayIn />
    </>
  );
}
