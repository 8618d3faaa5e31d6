import { useFocusKept } from '../kit/focus.ts';
import { SignIn } from '../kit/sign-in.tsx';
import { ThemeSwitch } from '../kit/theme-switch.tsx';
import { useToken } from '../kit/token.ts';
import { headingOfView } from './shell/going.ts';
import { Shell } from './shell/shell.tsx';

/** Nothing of a configuration is here before somebody has signed in. */
export function Builder() {
  const token = useToken((state) => state.token);
  useFocusKept(placeOfFocus);
  return token === null ? <Door /> : <Shell />;
}

const placeOfFocus = (): HTMLElement | null =>
  headingOfView() ?? document.getElementById('token') ?? document.querySelector('h1');

function Door() {
  return (
    <main className="mx-auto flex min-h-screen max-w-md flex-col justify-center gap-4 px-4">
      <h1 className="text-xl">svc builder</h1>
      <p className="text-soft">
        Here the configuration of this service is changed. It takes the administrator&apos;s token.
      </p>
      <SignIn />
      <ThemeSwitch />
    </main>
  );
}
