/** What the wizard's listener answers: its page, the sign-in, its state, and the answers to it. */
import { join } from 'node:path';
import type { ApplicationLink } from '../../../src/admin/application.ts';
import { json, problem, type Answer as HttpAnswer } from '../../../src/admin/http/answer.ts';
import {
  openAgain,
  signedOut,
  unauthorized,
  type Refusals,
} from '../../../src/admin/http/request-guard.ts';
import { applicationRoutes } from '../../../src/admin/routes/application.ts';
import { RouteTable } from '../../../src/admin/routes/match.ts';
import { pageAt } from '../../../src/admin/routes/pages.ts';
import { askRoute, readRoute, type Route } from '../../../src/admin/routes/route.ts';
import { tradeRoute } from '../../../src/admin/routes/sign-in.ts';
import { integer, map, object, text } from '../../../src/admin/schemas/schema.ts';
import type { SetupSession } from '../setup.ts';
import type { SignIn } from '../../../src/admin/http/sign-in.ts';
import type { WizardState } from './wizard.ts';

export type WizardDeps = {
  readonly session: Pick<
    SetupSession,
    'revision' | 'page' | 'frontend' | 'goesOn' | 'answer' | 'changed'
  >;
  readonly signIn: SignIn;
  /** The folder of the built pages, one folder each. */
  readonly webRoot: string;
  /** Aborts when the listener closes, so that no question waits on. */
  readonly closing: AbortSignal;
  /** Is told which revision goes out to the page. */
  readonly onShown: (revision: number) => void;
  /** Null: a terminal lets the page in. */
  readonly application: ApplicationLink | null;
};

const contentType = 'application/json';
/** How long a question for the next state waits for one: less than a page waits for an answer. */
export const waitMs = 20_000;
/** A few fields of 4,096 characters, with what JSON makes of them. */
const answerBytesMax = 128 * 1_024;

export function wizardRoutes(deps: WizardDeps): RouteTable {
  const folder = join(deps.webRoot, 'setup');
  const pages = pageAt('/setup', folder, 'The first run', 'reader');
  return new RouteTable([...pages, ...arrivals(deps), state(deps), answer(deps)]);
}

function arrivals({ signIn, application }: WizardDeps): readonly Route[] {
  if (application !== null) return applicationRoutes(application, 'operator');
  const again = againIn(application);
  return [tradeRoute({ signIn, canWrite: true, page: () => null, again })];
}

/** Asked again with the revision that is shown, it waits for the next one. */
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
      // It rejects when the signal aborts: then what is shown now is told.
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

/** How one comes to a new page. */
function againIn(application: ApplicationLink | null): string {
  if (application !== null) return openAgain;
  return 'Press Enter in the terminal where svc init runs: it opens a new page.';
}

/** What the guard says of what it does not let through. */
export function wizardRefusals(signIn: SignIn, application: ApplicationLink | null): Refusals {
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
