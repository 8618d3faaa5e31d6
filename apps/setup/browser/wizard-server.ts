/**
 * The wizard as a page of this machine, on a listener of its own: no page from elsewhere and no
 * other host name gets in, and nobody without the token. Whatever shows the page (a browser, a
 * window of its own) opens `url`, and brings a code in its fragment or a token from `grant`.
 */
import type { ApplicationLink } from '../../../src/admin/application.ts';
import type { OperatorAccess } from '../../../src/admin/http/auth.ts';
import { RequestGuard } from '../../../src/admin/http/request-guard.ts';
import { respondThrough } from '../../../src/admin/http/respond.ts';
import type { Events } from '../../../src/domain/event.ts';
import { createListeners, type Held } from '../../../src/lib/listener.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { SignIn, type Traded } from '../../../src/admin/http/sign-in.ts';
import { wizardRefusals, wizardRoutes, type WizardDeps } from './wizard-routes.ts';

export type WizardOptions = {
  readonly session: WizardDeps['session'];
  /** The folder of the built pages, one folder each. */
  readonly webRoot: string;
  /** Is told which revision goes out to the page; must not throw. */
  readonly onShown: (revision: number) => void;
  /** Is told of each code that came and was once offered; must not throw. */
  readonly onTraded: (traded: Traded) => void;
  /** Is told of what is wrong in svc itself; must not throw. */
  readonly onFault: (error: unknown) => void;
  readonly clock?: Clock;
  /** Lets pages in by a window of its own; left out, a terminal does. */
  readonly application?: WizardApplication;
};

/** The application that shows the pages, and who is signed in to them. */
export type WizardApplication = ApplicationLink & { readonly signIn: SignIn };

export type WizardServer = AsyncDisposable & {
  readonly signIn: SignIn;
  /** Without a code: `http://127.0.0.1:<port>/setup`. */
  readonly url: string;
  /** The same, with a new code in its fragment, which is good for one use within 60 s. */
  offer(): string;
  /** A token for a page that is handed it by its own window, and then needs no code. */
  grant(): string;
};

/** An address was refused by the system; `code` is the system's. */
export type WizardUnbound = { readonly kind: 'fault'; readonly code: string };

const graceMs = 1_000;

export async function openWizardServer(
  options: WizardOptions,
): Promise<WizardServer | WizardUnbound> {
  const { session, webRoot, onShown, onTraded, onFault, clock = systemClock } = options;
  const { application = null } = options;
  const held = await createListeners({}, { fault: onFault }).take({ host: '127.0.0.1', port: 0 });
  if (held.kind === 'fault') return held;
  const signIn = application?.signIn ?? new SignIn(clock.steady, onTraded);
  const closing = new AbortController();
  const access: OperatorAccess = { kind: 'bearer', matches: signIn.matches };
  const events = eventsTo(onFault);
  const guard = new RequestGuard(
    wizardRoutes({ session, signIn, application, webRoot, closing: closing.signal, onShown }),
    // Nothing here writes by the guard's knowledge, so there is nothing to keep.
    { now: clock.now, audit: () => Promise.resolve(true), events },
    {
      loopback: true,
      allowedHosts: () => [],
      access,
      refusals: wizardRefusals(signIn, application),
    },
  );
  held.answer(respondThrough(guard, access, events));
  return serverOf(held, signIn, closing);
}

function serverOf(held: Held, signIn: SignIn, closing: AbortController): WizardServer {
  const url = `http://127.0.0.1:${held.port}/setup`;
  return {
    signIn,
    url,
    offer: () => `${url}#${signIn.offer()}`,
    grant: () => signIn.grant(),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await held.release(graceMs);
    },
  };
}

type Told = Pick<Events, 'faulted' | 'operatorWrote' | 'bearerRefused'>;

function eventsTo(onFault: (error: unknown) => void): Told {
  return {
    faulted: ({ error }) => onFault(error),
    operatorWrote: () => {},
    bearerRefused: () => {},
  };
}
