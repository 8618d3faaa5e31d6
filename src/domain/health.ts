/**
 * The health of models, providers and brains: the states, the rule that changes them, and their
 * words.
 */
import { failure, type FailureKind } from './failure.ts';
import { formatModelName } from './model-words.ts';
import { plural } from './plural.ts';

/**
 * The health of a model, a provider or a brain: one rule for all of them, over the results of the
 * last minutes. The rule sees quickly that something is down, and is slow to call it well again. So
 * something that fails now and then is `degraded` and does not change with each call.
 *
 * - `failing`: nothing succeeded lately, or next to nothing.
 * - `degraded`: some calls fail.
 * - `unknown`: there is no result yet.
 */
export const standings = ['unknown', 'up', 'degraded', 'failing'] as const;
export type HealthLevel = (typeof standings)[number];

/** The results within some time: successes and failures. */
export type Span = { readonly good: number; readonly bad: number };

export type Window = { readonly minute: Span; readonly fiveMinutes: Span };

export const emptyWindow: Window = {
  minute: { good: 0, bad: 0 },
  fiveMinutes: { good: 0, bad: 0 },
};

/** The input of the rule after one more result. That result counts in every field. */
export type Evidence = Window & {
  /** How many of the last results were alike: above 0 they were successes, below 0 failures. */
  readonly run: number;
  /** How long ago the first result of the run ended. */
  readonly runMs: number;
  /** How long the present state has lasted. */
  readonly heldMs: number;
  /** The failure is one that the next call cannot avoid. */
  readonly isSure: boolean;
  /** From this share of failures on, the state is `degraded`. */
  readonly troubledFrom: number;
};

/** A change for the better waits this long after the last change. */
export const holdMs = 30_000;
/** The tries of a first message may fail before one succeeds: so few, so soon, show nothing. */
const first = { results: 4, ms: 5_000 };
/** With fewer results in a minute, the rule uses the share of five minutes. */
const enough = 10;

/** The next health state. */
export function nextHealth(was: HealthLevel, seen: Evidence): HealthLevel {
  if (isDown(seen)) return 'failing';
  const isHeld = seen.heldMs < holdMs;
  switch (was) {
    case 'unknown':
      return seen.run > 0 ? 'up' : 'degraded';
    case 'up':
      return isTroubled(seen) ? 'degraded' : 'up';
    case 'degraded':
      return !isHeld && isWell(seen) ? 'up' : 'degraded';
    case 'failing':
      return (!isHeld || isFirst(seen)) && isBack(seen) ? 'degraded' : 'failing';
    default:
      return was satisfies never;
  }
}

const countOf = ({ good, bad }: Span): number => good + bad;
const shareOf = (span: Span): number => (countOf(span) === 0 ? 0 : span.bad / countOf(span));

function isDown({ minute, fiveMinutes, run, runMs, isSure }: Evidence): boolean {
  if (run >= 0) return false;
  // If it failed before and came back, short runs of failures are normal: only a longer run
  // counts.
  const before = { good: fiveMinutes.good, bad: fiveMinutes.bad + run };
  const isMixed = before.bad > 0;
  const isMostlyBad = shareOf(before) >= 0.5;
  return (
    (fiveMinutes.good === 0 && (isSure || run <= -2)) ||
    (minute.good === 0 && run <= -3) ||
    (countOf(minute) < enough && isSure && run <= (isMixed ? -3 : -2)) ||
    (run <= (isMostlyBad ? -20 : -10) && runMs >= 8_000) ||
    (run <= -3 && runMs >= 15_000 && shareOf(before) < 0.1) ||
    (countOf(minute) >= enough && shareOf(minute) >= 0.9)
  );
}

/** Whether enough of the last calls failed to leave `up`. */
function isTroubled({ minute, fiveMinutes, run, isSure, troubledFrom }: Evidence): boolean {
  if (run > 0) return false;
  const span = countOf(minute) >= enough ? minute : fiveMinutes;
  return (span.bad >= 2 || span.good === 0 || isSure) && shareOf(span) >= troubledFrom;
}

/** Two are enough if a minute has passed since the last failure. */
const isWell = ({ minute, run }: Evidence): boolean =>
  (run >= 3 && shareOf(minute) <= 0.02) || (run >= 2 && minute.bad === 0);

const isFirst = ({ fiveMinutes, heldMs }: Evidence): boolean =>
  countOf(fiveMinutes) < first.results && heldMs < first.ms;

/** Two failures of three calls can still give every message an answer, since svc retries calls. */
const isBack = ({ minute, run }: Evidence): boolean =>
  run > 0 && (run >= 5 || shareOf(minute) <= 0.75);

/** Whether time alone may change the one to the other: it makes nothing worse. */
export const isBetter = (one: HealthLevel, than: HealthLevel): boolean =>
  standings.indexOf(one) < standings.indexOf(than);

/**
 * When a trouble in this state began. It stays while the trouble eases, and never moves back.
 * @param now the beginning of the state
 */
export function sinceOf(standing: HealthLevel, was: HealthState, now: number): number {
  const hasEased = was.standing === 'failing' && standing === 'degraded';
  return standing === was.standing || hasEased ? was.since : Math.max(now, was.since);
}
type HealthState = { readonly standing: HealthLevel; readonly since: number };

/** The state of a whole from the states of its parts. Unknown parts do not count. */
export function healthOfAll(parts: readonly HealthLevel[]): HealthLevel {
  const known = parts.filter((part) => part !== 'unknown');
  if (known.length === 0) return 'unknown';
  if (known.every((part) => part === 'failing')) return 'failing';
  return known.every((part) => part === 'up') ? 'up' : 'degraded';
}

export function addWindows(one: Window, other: Window): Window {
  return {
    minute: addSpans(one.minute, other.minute),
    fiveMinutes: addSpans(one.fiveMinutes, other.fiveMinutes),
  };
}

function addSpans(one: Span, other: Span): Span {
  return { good: one.good + other.good, bad: one.bad + other.bad };
}

// Health in words: the same on the pages and at a terminal.

/** The state of a model or a provider, in a few words. */
export const healthSentences: Readonly<Record<HealthLevel, string>> = {
  up: 'up',
  degraded: 'fails at some calls',
  failing: 'failing',
  unknown: 'not asked lately',
};

type ResultCounts = { readonly answers: number; readonly failures: number };
type Spans = { readonly oneMinute: ResultCounts; readonly fiveMinutes: ResultCounts };

/** The names of the things that a window counts, and of their failure. */
const counted = {
  calls: { one: 'call', failed: 'failed' },
  messages: { one: 'message', failed: 'got no answer' },
} as const;

/** @returns null: there were no calls or messages in five minutes */
export function describeFailed(window: Spans | null, of: keyof typeof counted): string | null {
  if (window === null) return null;
  const { answers, failures } = window.fiveMinutes;
  if (answers + failures === 0) return null;
  const { one, failed } = counted[of];
  const many = failures === 0 ? 'none' : `${failures}`;
  return `${many} of ${plural(answers + failures, one)} ${failed} in the last 5 minutes`;
}

type RetriedCalls = { readonly window: Spans | null; readonly answeredByOthers: number | null };

/**
 * Whether some calls failed and others answered, and no other model had to answer: retries help.
 */
export function isRescued({ window, answeredByOthers }: RetriedCalls): boolean {
  const { answers = 0, failures = 0 } = window?.fiveMinutes ?? {};
  return answers > 0 && failures > 0 && answeredByOthers === 0;
}

/**
 * How the named model failed, as text after a colon.
 * @param formatModel formats the model's name there
 */
export function describeCause(
  model: string | null,
  reason: FailureKind | null,
  formatModel: (model: string) => string = formatModelName,
): string {
  if (model === null) return '';
  const name = formatModel(model);
  return reason === null ? name : `${name}: ${failure(reason).detail}`;
}
