import { useApplication } from '../kit/application.ts';
import { useArrival } from '../kit/arrival.ts';
import { ComeBack } from '../kit/come-back.tsx';
import { useFocusKept } from '../kit/focus.ts';
import { Notice } from '../kit/notice.tsx';
import { SignIn, TokenInstead } from '../kit/sign-in.tsx';
import { ThemeSwitch } from '../kit/theme-switch.tsx';
import { useToken } from '../kit/token.ts';
import { useWatch } from '../kit/watch.ts';
import { useDraft } from './document/store.ts';
import { headingOfView } from './shell/going.ts';
import { Shell } from './shell/shell.tsx';

/** Shows the sign-in form first: nothing of a configuration is on the page before it. */
export function Builder() {
  const token = useToken((state) => state.token);
  const { now } = useArrival();
  const hasDraft = useDraft((state) => state.base !== null);
  useFocusKept(placeOfFocus);
  useWatch(true);
  if (token !== null) return <Shell />;
  // After the service ended the session, the draft stays on the page.
  if (hasDraft && (now.kind !== 'out' || now.why !== null)) return <Shell />;
  return now.kind === 'out' ? <Door why={now.why} /> : <Entering />;
}

const placeOfFocus = (): HTMLElement | null =>
  headingOfView() ?? document.getElementById('token') ?? document.querySelector('h1');

function Entering() {
  return (
    <main className="mx-auto flex min-h-screen max-w-md flex-col justify-center gap-4 px-4">
      <h1 className="text-xl">svc builder</h1>
      <p className="text-soft">Signing in …</p>
    </main>
  );
}

function Door({ why }: { readonly why: string | null }) {
  const isThere = useApplication((state) => state.isThere);
  return (
    <main className="mx-auto flex min-h-screen max-w-md flex-col justify-center gap-4 px-4">
      <h1 className="text-xl">svc builder</h1>
      {why === null ? null : <Notice tone="wait">{why}</Notice>}
      {isThere ? <InApplication /> : <ByToken />}
      <ThemeSwitch />
    </main>
  );
}

function ByToken() {
  return (
    <>
      <p className="text-soft">
        Here you change the configuration of this service. Paste the administrator&apos;s token.
      </p>
      <SignIn />
    </>
  );
}

function InApplication() {
  return (
    <>
      <p>
        Here the configuration of svc is changed. This page was loaded again, or opened by itself,
        so it does not know you. svc can open one that does; what you have begun is kept.
      </p>
      <ComeBack />
      <TokenInstead />
    </>
  );
}
