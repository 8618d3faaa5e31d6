import { create } from 'zustand';
import { Button } from '../kit/button.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { SignIn } from '../kit/sign-in.tsx';
import { useToken } from '../kit/token.ts';

const useAsking = create<{ readonly asking: boolean }>(() => ({ asking: false }));

/** Opens the question for the token, from wherever it is needed. */
export const askToSignIn = (): void => useAsking.setState({ asking: true });

const close = (): void => useAsking.setState({ asking: false });

/** Signs in for what needs the bearer: texts, and every change. */
export function Operator() {
  const { token, signOut } = useToken();
  const { asking } = useAsking();
  return (
    <>
      {token === null ? (
        <Button small onClick={askToSignIn}>
          Sign in
        </Button>
      ) : (
        <Button small onClick={signOut}>
          Sign out
        </Button>
      )}
      <Dialog open={asking} title="Sign in" onClose={close}>
        <SignIn onDone={close} />
      </Dialog>
    </>
  );
}
