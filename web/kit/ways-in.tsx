/** The sign-in dialog, which any place of a page can open. */
import { create } from 'zustand';
import { useApplication } from './application.ts';
import { ButtonLink } from './button.tsx';
import { ComeBack } from './come-back.tsx';
import { Dialog } from './dialog.tsx';
import { SignIn, TokenInstead } from './sign-in.tsx';
import { bearerOf, useToken } from './token.ts';

const useAsking = create<{ readonly asking: boolean }>(() => ({ asking: false }));

/** Opens the sign-in dialog, from any place that needs the bearer. */
export const askToSignIn = (): void => useAsking.setState({ asking: true });

const close = (): void => useAsking.setState({ asking: false });

useToken.subscribe((state) => void (bearerOf(state) !== null && close()));

/** The label of the sign-in button. A read-only service has no token to sign in with. */
export function useWayIn(): string {
  return useApplication(({ isReadOnly }) => isReadOnly) ? letMeChange : 'Sign in';
}

const letMeChange = 'Let me change things';

/** The sign-in dialog of `askToSignIn`, over any view. Use it once in a page. */
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
