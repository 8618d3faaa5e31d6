import { create } from 'zustand';
import { useApplication } from '../kit/application.ts';
import { leave, useArrival } from '../kit/arrival.ts';
import { Button, ButtonLink } from '../kit/button.tsx';
import { ComeBack } from '../kit/come-back.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { PageLink } from '../kit/page-link.tsx';
import { SignIn, TokenInstead } from '../kit/sign-in.tsx';
import { useToken } from '../kit/token.ts';

const useAsking = create<{ readonly asking: boolean }>(() => ({ asking: false }));

/** Opens the way to what needs the bearer, from wherever it is needed. */
export const askToSignIn = (): void => useAsking.setState({ asking: true });

const close = (): void => useAsking.setState({ asking: false });

useToken.subscribe(({ token }) => void (token !== null && close()));

/** What the way in is called here: no token opens a service that is for looking at alone. */
export function useWayIn(): string {
  return useApplication(({ isReadOnly }) => isReadOnly) ? letMeChange : 'Sign in';
}

const letMeChange = 'Let me change things';

/** Signs in for what needs the bearer: texts, and every change. */
export function Operator() {
  const token = useToken((state) => state.token);
  const page = useApplication((state) => state.page);
  const isHanded = useArrival(({ now }) => now.kind === 'in' && now.how === 'handed');
  const { asking } = useAsking();
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
      <Dialog open={asking} title={wayIn} onClose={close}>
        <WaysIn />
      </Dialog>
    </>
  );
}

function WaysIn() {
  const { isThere, isReadOnly, page } = useApplication();
  if (isReadOnly) return <AddBlock page={page} />;
  if (!isThere) return <SignIn onDone={close} />;
  return (
    <div className="flex flex-col gap-4">
      <p>
        This page was loaded again, or opened by itself, so it does not know you. svc can open one
        that does.
      </p>
      <ComeBack />
      <TokenInstead onDone={close} />
    </div>
  );
}

function AddBlock({ page }: { readonly page: string | null }) {
  return (
    <div className="flex flex-col items-start gap-4">
      <p>
        So far svc only shows here what happens. To read what people wrote, and to change anything,
        its configuration needs one more line.
      </p>
      <p>The page of this application adds it for you, and starts svc again within seconds.</p>
      {page === null ? (
        <ComeBack />
      ) : (
        <ButtonLink kind="main" href={page}>
          Go to that page
        </ButtonLink>
      )}
    </div>
  );
}
