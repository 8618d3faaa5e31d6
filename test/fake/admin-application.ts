/** An application around an admin server: a real sign-in, and a shell that the test scripts. */
import type { ApplicationLink, WindowAsked } from '../../src/admin/application.ts';
import { SignIn } from '../../src/admin/http/sign-in.ts';
import { steadyNow } from '../../src/lib/clock.ts';

export type FakeApplication = ApplicationLink & {
  readonly signIn: SignIn;
  page: string | null;
  /** The answer to the next page that asks for a window. */
  asked: WindowAsked;
  /** How often a page asked for a window. */
  windows: number;
};

export function fakeApplication(): FakeApplication {
  return {
    signIn: new SignIn(steadyNow, () => {}, Infinity),
    page: 'http://127.0.0.1:9/app/0123456789abcdef/',
    asked: { kind: 'asked' },
    windows: 0,
    showWindow() {
      this.windows++;
      return this.asked;
    },
  };
}
