import type { Answer } from '../answer.ts';
import type { Principal } from '../auth.ts';

/** One path of the admin server. All are read with GET or HEAD. */
export type Route = {
  /** Exactly this path; no route has parameters. */
  readonly path: string;
  readonly principal: Principal;
  /** One sentence for the API's description. */
  readonly summary: string;
  readonly contentType: string;
  /** Other statuses than 200, with what they mean. */
  readonly statuses?: Readonly<Record<number, string>>;
  /** What a JSON answer looks like, and its name in the API's description. */
  readonly schema?: { readonly name: string; readonly of: object };
  answer(): Answer | Promise<Answer>;
};
