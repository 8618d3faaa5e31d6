import type { ApplicationLink, CodeTrade } from '../application.ts';
import type { Access } from '../admin.ts';
import { noContent, problem, answerWith } from '../http/answer.ts';
import { openAgain } from '../http/request-guard.ts';
import {
  applicationSchema,
  codeSchema,
  nothingSchema,
  signedInSchema,
} from '../schemas/application.ts';
import { askRoute, readRoute, signInRoute, type Route } from './route.ts';

const contentType = 'application/json';
const nothing = {
  kind: 'json',
  summary: 'An empty object.',
  bytesMax: 1_024,
  example: {},
  schema: { name: 'Nothing', of: nothingSchema },
} as const;

/** Routes to the application around the service. Without one they do not exist. */
export function applicationRoutes(application: ApplicationLink | null, access: Access): Route[] {
  if (application === null) return [];
  const { signIn } = application;
  const canWrite = access === 'operator';
  const page = (): string | null => application.page;
  return [
    tradeRoute({ signIn, canWrite, page, again: openAgain }),
    nextRoute(application),
    windowRoute(application),
    viewRoute(application),
  ];
}

function nextRoute({ signIn }: ApplicationLink): Route {
  return askRoute({
    path: '/api/v1/sign-in/next',
    summary: 'Makes a code for the next page. Its use signs this page out.',
    contentType,
    onlyHere: true,
    body: nothing,
    schema: { name: 'SignIn', of: codeSchema },
    problems: { 403: 'It comes from elsewhere, or the service is read-only.' },
    answer: () => answerWith(codeSchema, { code: signIn.offer() }),
  });
}

function windowRoute(application: ApplicationLink): Route {
  return signInRoute({
    path: '/api/v1/sign-in/ask',
    summary: 'Asks the application to show a window that is signed in.',
    contentType: [],
    onlyHere: true,
    body: nothing,
    problems: {
      403: 'It comes from elsewhere.',
      429: 'It was asked for just now; Retry-After says when to ask again.',
      503: 'The application is not there at this moment.',
    },
    answer: () => {
      const answered = application.showWindow();
      switch (answered.kind) {
        case 'asked':
          return noContent;
        case 'too_soon': {
          const after = String(Math.max(1, Math.ceil(answered.afterMs / 1000)));
          return problem(429, 'too_soon', 'A window was asked for just now.', {
            'retry-after': after,
          });
        }
        case 'no_shell':
          return problem(503, 'no_shell', `The application is not running. ${openAgain}`);
        default:
          return answered satisfies never;
      }
    },
  });
}

function viewRoute(application: ApplicationLink): Route {
  return readRoute({
    path: '/api/v1/application',
    principal: 'reader',
    summary: 'Whether the application is there; for its operator also its own page.',
    contentType,
    schema: { name: 'Application', of: applicationSchema },
    answer: (_values, { asker, isHere }) => {
      const { page } = application;
      const mayKnow = asker === 'operator' && isHere;
      return answerWith(applicationSchema, { shell: page !== null, page: mayKnow ? page : null });
    },
  });
}

/** Routes to sign in without showing a token, by a code that was offered on this machine. */
type TradeParts = {
  readonly signIn: Pick<CodeTrade, 'trade'>;
  /** Whether a token permits writes here. */
  readonly canWrite: boolean;
  /** The page of the application around it; null: there is none now. */
  readonly page: () => string | null;
  /** How to get a new page: a sentence. */
  readonly again: string;
};

const codeBytesMax = 1_024;

/** Trades a code for a token, which the page holds only in memory. */
export function tradeRoute({ signIn, canWrite, page, again }: TradeParts): Route {
  return signInRoute({
    path: '/api/v1/sign-in',
    summary: 'Trades the code of a link for a token.',
    contentType: 'application/json',
    onlyHere: true,
    body: {
      kind: 'json',
      summary: 'The code.',
      bytesMax: codeBytesMax,
      example: { code: 'AAAAAAAAAAAAAAAAAAAAAA' },
      schema: { name: 'SignIn', of: codeSchema },
    },
    schema: { name: 'SignedIn', of: signedInSchema },
    problems: { 403: 'It comes from elsewhere, or the code is none, too old, or used before.' },
    answer: (_values, { body }) => {
      const traded = signIn.trade(body.code);
      if (traded.kind === 'refused') {
        return problem(403, `code_${traded.why}`, `${untraded[traded.why]} ${again}`);
      }
      return answerWith(signedInSchema, { token: canWrite ? traded.token : null, page: page() });
    },
  });
}

const untraded = {
  unknown: 'This page was opened by a link that svc does not know.',
  late: 'This link is too old: it is good for one minute.',
  used_twice:
    'This link was used before, so somebody else may have it: whoever was signed in is signed ' +
    'out.',
} as const;
