/**
 * One table for everything that can go wrong outside our own code: the name of the failure, whether
 * another try may help, and who has to act. A failure is a value; a bug is a throw.
 */
export type ActionBy = 'sender' | 'operator' | 'provider' | 'us';

type Row = { retryable: boolean; whose: ActionBy; sentence: string };

const failures = {
  connect_failed: row(true, 'provider', 'the address could not be reached'),
  connect_timeout: row(true, 'provider', 'no connection within the time allowed'),
  far_address: row(
    false,
    'operator',
    'its address is not on this machine or a private network, so it gets no private text',
  ),
  connection_lost: row(true, 'provider', 'the connection broke before the answer was complete'),
  no_credit: row(false, 'operator', 'the account has no credit or quota left'),
  filtered: row(false, 'provider', "the provider's content filter ended the answer"),
  rate_limited: row(true, 'provider', 'it answered 429: too many requests'),
  overloaded: row(true, 'provider', 'it answered 503: busy or still starting'),
  server_error: row(true, 'provider', 'it answered with a server error'),
  timeout: row(false, 'provider', 'no answer within the time allowed'),
  deadline: row(false, 'us', 'the time for this turn was over'),
  outranked: row(false, 'us', 'it was given up, since another answer was already in hand'),
  unauthorized: row(false, 'operator', 'the key or token was refused'),
  not_found: row(false, 'operator', 'the address or the model does not exist there'),
  rejected: row(false, 'operator', 'the request was refused as invalid'),
  redirected: row(false, 'operator', 'it answered with a redirect, which is never followed'),
  context_overflow: row(false, 'provider', 'the conversation is longer than the model can read'),
  tool_refused: row(false, 'operator', 'the provider refuses the definition of a tool'),
  tools_unsupported: row(false, 'provider', 'the model cannot call tools'),
  pictures_unsupported: row(false, 'provider', 'the model cannot see pictures'),
  picture_refused: row(false, 'provider', 'the provider did not take the picture'),
  tool_call_malformed: row(false, 'provider', 'the model wrote a call that its provider refused'),
  malformed_answer: row(false, 'provider', 'the answer could not be understood'),
  empty_answer: row(true, 'provider', 'the answer was empty'),
  answer_too_large: row(false, 'provider', 'the answer was larger than allowed'),
  left_machine: row(false, 'operator', 'the local runtime forwards this model to a vendor'),
  private_refused: row(false, 'operator', 'a cloud model refused a private request'),
  over_budget: row(false, 'operator', 'the budget of its brain leaves no room for what it may use'),
  cancelled: row(false, 'us', 'it was cancelled'),
  gone: row(false, 'operator', 'the target is gone for good'),
  unroutable: row(false, 'operator', 'its channel or its route is no longer configured'),
  poison: row(false, 'us', 'svc ended twice while this message alone was being worked on'),
  fault: row(false, 'us', 'something went wrong in svc itself'),
} as const satisfies Record<string, Row>;

export type FailureKind = keyof typeof failures;

/**
 * `detail`: svc's own words, never a provider's. One exception: a delivery keeps the messenger's
 * words at the end of it (`withWords`).
 */
export type Failure = {
  readonly kind: FailureKind;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly whose: ActionBy;
  readonly status: number | null;
  readonly detail: string;
  /** The tools that the provider refuses, by their names for the model; absent: unknown. */
  readonly tools?: readonly string[];
  /** For an empty answer: the provider ended it at a limit of its length. Absent: no. */
  readonly isCut?: true;
  /**
   * For a failure of kind `over_budget`: when the call may fit, in milliseconds since 1970. Absent:
   * unknown, or never.
   */
  readonly opensAt?: number;
  /**
   * The other side's words, scrubbed (upstream-words.ts). Operators see them; no metric has them.
   */
  readonly said?: string;
};

/**
 * Makes a failure from its kind; the table gives the rest.
 * @param more `status` is an HTTP status, `retryAfterMs` the pause that the other side asked for
 */
export function failure(
  kind: FailureKind,
  more: { status?: number; retryAfterMs?: number | null; detail?: string; said?: string } = {},
): Failure {
  const { retryable, whose, sentence } = failures[kind];
  return {
    kind,
    retryable,
    retryAfterMs: more.retryAfterMs ?? null,
    whose,
    status: more.status ?? null,
    detail: more.detail ?? sentence,
    ...(more.said === undefined ? {} : { said: more.said }),
  };
}

/**
 * The failure as the ledger keeps it with the delivery: with the platform's words, marked as
 * theirs.
 */
export function withWords({ said, ...why }: Failure): Failure {
  return said === undefined
    ? why
    : { ...why, detail: `${why.detail}; the platform said: "${said}"` };
}

/** Every failure kind, for metrics and tests. */
export const failureKinds = Object.keys(failures) as readonly FailureKind[];

function row(retryable: boolean, whose: ActionBy, sentence: string): Row {
  return { retryable, whose, sentence };
}
