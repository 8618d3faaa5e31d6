/** Signing in without being shown a token: by a code that was offered on this machine. */
import { problem, tell } from '../http/answer.ts';
import type { CodeTrade } from '../application.ts';
import { codeSchema, signedInSchema } from '../schemas/application.ts';
import { signInRoute, type Route } from './route.ts';

export type TradeParts = {
  readonly signIn: Pick<CodeTrade, 'trade'>;
  /** Whether a token opens anything here. */
  readonly canWrite: boolean;
  /** The page of the application around it; null: there is none now. */
  readonly page: () => string | null;
  /** How one comes to a new page: a sentence. */
  readonly again: string;
};

const codeBytesMax = 1_024;

/** A code goes in, and a token comes back: the page holds it in memory alone. */
export function tradeRoute({ signIn, canWrite, page, again }: TradeParts): Route {
  return signInRoute({
    path: '/api/v1/sign-in',
    summary: 'Trades the code that the page was opened with for a token.',
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
      return tell(signedInSchema, { token: canWrite ? traded.token : null, page: page() });
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
