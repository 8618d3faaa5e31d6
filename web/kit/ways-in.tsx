import { create } from 'zustand';
import { useApplication } from './application.ts';
import { ButtonLink } from './button.tsx';
import { ComeBack } from './come-back.tsx';
import { Dialog } from './dialog.tsx';
import { SignIn, TokenInstead } from './sign-in.tsx';
import { bearerOf, useToken } from './token.ts';

const useAsking = create<{ readonly asking: boolean }>(() => ({ asking: false }));

/** Opens the way to what needs the bearer, from wherever it is needed. */
export const askToSignIn = (): void => useAsking.setState({ asking: true });

const close = (): void => useAsking.setState({ asking: false });

useToken.subscribe((state) => void (bearerOf(state) !== null && close()));

/** What the way in is called here: no token opens a service that is for looking at alone. */
export function useWayIn(): string {
  return useApplication(({ isReadOnly }) => isReadOnly) ? letMeChange : 'Sign in';
}

const letMeChange = 'Let me change things';

/** Where `askToSignIn` leads, over whatever is shown; to be used once in a page. */
export function WayIn() {
  const { asking } = useAsking();
  const wayIn = useWayIn();
  return (
    <Dialog open={asking} title={wayIn} onClose={close}>
      <WaysIn />
    </Dialog>
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
