/**
 * The wizard as a page on this machine, on its own listener. It refuses cross-site requests, other
 * host names, and requests without the token. A browser or a window opens `url`, and brings a code
 * in the fragment or a token from `grant`.
 */
import type { ApplicationLink } from '../../../src/admin/application.ts';
import type { OperatorAccess } from '../../../src/admin/http/auth.ts';
import {
  RequestGuard,
  openAgain,
  signedOut,
  unauthorized,
  type Refusals,
} from '../../../src/admin/http/request-guard.ts';
import { respondThrough } from '../../../src/admin/http/respond.ts';
import type { Events } from '../../../src/domain/event.ts';
import { createListeners, type ListenerHandle } from '../../../src/lib/listener.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { SignIn, type Traded } from '../../../src/admin/http/sign-in.ts';
import { join } from 'node:path';
import { json, problem, type Answer as HttpAnswer } from '../../../src/admin/http/answer.ts';
import { applicationRoutes, tradeRoute } from '../../../src/admin/routes/application.ts';
import { RouteTable } from '../../../src/admin/routes/match.ts';
import { pageAt } from '../../../src/admin/routes/pages.ts';
import { askRoute, readRoute, type Route } from '../../../src/admin/routes/route.ts';
import { integer, map, object, text } from '../../../src/admin/schemas/schema.ts';
import type { SetupSession } from '../setup.ts';
import type { WizardState } from './wizard.ts';

export type WizardOptions = {
  readonly session: WizardDeps['session'];
  /** The folder of the built pages; each page has a subfolder. */
  readonly webRoot: string;
  /** Called with each revision that goes to the page; must not throw. */
  readonly onShown: (revision: number) => void;
  /** Called for each code that arrives and was once offered; must not throw. */
  readonly onTraded: (traded: Traded) => void;
  /** Called with each bug of svc itself; must not throw. */
  readonly onFault: (error: unknown) => void;
  readonly clock?: Clock;
  /** The application whose window signs the page in; without it, a terminal does. */
  readonly application?: WizardApplication;
};

/** The application that shows the pages, and its sign-in. */
export type WizardApplication = ApplicationLink & { readonly signIn: SignIn };

export type WizardServer = AsyncDisposable & {
  readonly signIn: SignIn;
  /** Without a code: `http://127.0.0.1:<port>/setup`. */
  readonly url: string;
  /** The URL with a new code in its fragment. The code is good for one use within 60 s. */
  offer(): string;
  /** A token for a page that its window hands it to; the page then needs no code. */
  grant(): string;
};

/** The system refused the address; `code` is the system's. */
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
    // No request here needs an audit entry, so there is nothing to store.
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

function serverOf(held: ListenerHandle, signIn: SignIn, closing: AbortController): WizardServer {
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

/** The dependencies of the wizard's routes: its page, the sign-in, its state, and the answers. */
type WizardDeps = {
  readonly session: Pick<
    SetupSession,
    'revision' | 'page' | 'frontend' | 'goesOn' | 'answer' | 'changed'
  >;
  readonly signIn: SignIn;
  /** The folder of the built pages; each page has a subfolder. */
  readonly webRoot: string;
  /** Aborts when the listener closes, so that no request keeps waiting. */
  readonly closing: AbortSignal;
  /** Called with each revision that goes to the page. */
  readonly onShown: (revision: number) => void;
  /** Null: a terminal signs the page in. */
  readonly application: ApplicationLink | null;
};

const contentType = 'application/json';
/** How long a request waits for the next state; less than a page waits for an answer. */
const waitMs = 20_000;
/** Room for a few fields of 4,096 characters, escaped as JSON. */
const answerBytesMax = 128 * 1_024;

function wizardRoutes(deps: WizardDeps): RouteTable {
  const folder = join(deps.webRoot, 'setup');
  const pages = pageAt('/setup', folder, 'The first run', 'reader');
  return new RouteTable([...pages, ...arrivals(deps), state(deps), answer(deps)]);
}

function arrivals({ signIn, application }: WizardDeps): readonly Route[] {
  if (application !== null) return applicationRoutes(application, 'operator');
  const again = againIn(application);
  return [tradeRoute({ signIn, canWrite: true, page: () => null, again })];
}

/**
 * The state of the wizard. With the current revision as `after`, the request waits for the next
 * one.
 */
function state(deps: WizardDeps): Route {
  const { session, signIn, closing } = deps;
  return readRoute({
    path: '/api/v1/setup',
    principal: 'operator',
    summary: 'What the wizard shows now.',
    contentType,
    parameters: {
      after: {
        kind: 'integer',
        summary: 'Waits until it shows another revision than this one, at most 20 s.',
        min: 0,
        max: Number.MAX_SAFE_INTEGER,
        otherwise: Number.MAX_SAFE_INTEGER,
      },
    },
    answer: async ({ after }, { left }) => {
      const { ended } = signIn;
      const ends = AbortSignal.any([left, closing, ended, AbortSignal.timeout(waitMs)]);
      // It rejects when the signal aborts; the answer then has the current state.
      if (after === session.revision) await session.changed(after, ends).catch(() => {});
      return ended.aborted ? outOf(signIn, deps.application) : stateOf(deps);
    },
  });
}

function answer(deps: WizardDeps): Route {
  return askRoute({
    path: '/api/v1/setup/answer',
    summary: 'Answers the page that is shown; what follows is shown in its time.',
    contentType,
    body: {
      kind: 'json',
      summary: 'The choice, the fields that go with it, and to which revision they belong.',
      bytesMax: answerBytesMax,
      example: { revision: 1, choice: 'back', fields: {} },
      schema: {
        name: 'SetupAnswer',
        of: object({ revision: integer, choice: text, fields: map(text) }),
      },
    },
    problems: {
      409: 'The page has changed since.',
      422: 'The page has no such choice, or a field is empty or too long.',
    },
    answer: (_values, { body: { revision, choice, fields } }) => {
      const outcome = deps.session.answer({ choice, fields }, revision);
      switch (outcome) {
        case 'taken':
          return stateOf(deps);
        case 'stale':
          return problem(
            409,
            'stale',
            'This has changed meanwhile, so nothing was done: look, and choose again.',
          );
        case 'not_offered':
          return problem(422, 'not_offered', 'Fill in what is asked for, in 4,096 characters.');
        default:
          return outcome satisfies never;
      }
    },
  });
}

function stateOf({ session, onShown }: WizardDeps): HttpAnswer {
  const { revision, page, frontend, goesOn } = session;
  onShown(revision);
  return json(200, { revision, page, frontend, goesOn } satisfies WizardState);
}

/** How the person opens a new page. */
function againIn(application: ApplicationLink | null): string {
  if (application !== null) return openAgain;
  return 'Press Enter in the terminal where svc init runs: it opens a new page.';
}

/** The answers of the guard to requests that it refuses. */
function wizardRefusals(signIn: SignIn, application: ApplicationLink | null): Refusals {
  return {
    unknownHost: problem(421, 'unknown_host', 'Use 127.0.0.1 or localhost as the host name.'),
    notFound: problem(404, 'not_found', 'There is nothing at this path; the page is at /setup.'),
    crossSite: problem(403, 'cross_site', 'A page from elsewhere may not do this.'),
    unauthorized: () => outOf(signIn, application),
  };
}

function outOf({ withdrawn }: SignIn, application: ApplicationLink | null): HttpAnswer {
  const again = againIn(application);
  if (withdrawn === null) return unauthorized(`Nobody is signed in. ${again}`, 'nobody_signed_in');
  return signedOut(withdrawn, again);
}
