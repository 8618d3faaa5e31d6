/** The banner of a page whose token was refused. */
import { useApplication } from './application.ts';
import { useArrival } from './arrival.ts';
import { Button } from './button.tsx';
import { ComeBack } from './come-back.tsx';
import { Notice } from './notice.tsx';
import { useToken } from './token.ts';
import { askToSignIn } from './ways-in.tsx';

const lapsed = 'svc does not take your token any more: it was changed, or svc was started anew.';

/** A sentence that says why the person is signed out; null: they are not, or they asked for it. */
export function useSignedOut(): string | null {
  const hasLapsed = useToken((state) => state.hasLapsed);
  const { now } = useArrival();
  if (hasLapsed) return lapsed;
  return now.kind === 'out' ? now.why : null;
}

type Props = {
  /** A sentence about unsaved content of the page; null: there is none. */
  readonly stays: string | null;
};

/** The banner of a page whose token was refused, with a way to sign in again. Otherwise nothing. */
export function SignedOut({ stays }: Props) {
  const why = useSignedOut();
  const isThere = useApplication((state) => state.isThere);
  if (why === null) return null;
  return (
    <Notice tone="wait">
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-0 flex-1 basis-64 break-words">
          {stays === null ? why : `${why} ${stays}`}
        </p>
        {isThere ? <ComeBack /> : null}
        <Button small kind={isThere ? 'plain' : 'main'} onClick={askToSignIn}>
          {isThere ? 'Sign in with a token …' : 'Sign in again'}
        </Button>
      </div>
    </Notice>
  );
}
