import { failure, type FailureKind } from './failure.ts';
import { formatModelName } from './model-words.ts';
import { plural } from './plural.ts';

/**
 * How a model answers, a provider, or a brain: one rule for all of them, by what the last minutes
 * showed. It is quick to see that something is down, and slow to take that back, so that what
 * fails now and then stands as one that does, instead of changing with each call.
 *
 * - `failing`: nothing came of it lately, or next to nothing.
 * - `degraded`: some of it goes wrong.
 * - `unknown`: nothing has shown anything yet.
 */
export const standings = ['unknown', 'up', 'degraded', 'failing'] as const;
export type Standing = (typeof standings)[number];

/** What went well and what did not within some time. */
export type Span = { readonly good: number; readonly bad: number };

/** The last minute and the last five. */
export type Window = { readonly minute: Span; readonly fiveMinutes: Span };

export const fiveMinutesMs = 300_000;
export const emptyWindow: Window = {
  minute: { good: 0, bad: 0 },
  fiveMinutes: { good: 0, bad: 0 },
};

/** All that the rule looks at once something ended; that one counts in everything here. */
export type Evidence = Window & {
  /** How many of the last ones were alike: above 0 these went well, below 0 they did not. */
  readonly run: number;
  /** How long ago the first of them ended. */
  readonly runMs: number;
  /** How long it has stood as it does. */
  readonly heldMs: number;
  /** It failed in a way that the next one does not get past. */
  readonly isSure: boolean;
  /** From this share of failures on it is in trouble. */
  readonly troubledFrom: number;
};

/** A better state waits for so long after each change; what few calls showed waits for nothing. */
const holdMs = 15_000;
/** With fewer in a minute the share is taken of five minutes, and few show little. */
const enough = 10;

export function nextStanding(was: Standing, seen: Evidence): Standing {
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
      return !(isHeld && healthOf(seen.fiveMinutes) >= enough) && isBack(seen)
        ? 'degraded'
        : 'failing';
    default:
      return was satisfies never;
  }
}

const healthOf = ({ good, bad }: Span): number => good + bad;
const shareOf = (span: Span): number => (healthOf(span) === 0 ? 0 : span.bad / healthOf(span));

function isDown({ minute, fiveMinutes, run, runMs, isSure }: Evidence): boolean {
  if (run >= 0) return false;
  // What failed before and came back does so now and then: only a longer run is news of it.
  const before = { good: fiveMinutes.good, bad: fiveMinutes.bad + run };
  const isMixed = before.bad > 0;
  const isMostlyBad = shareOf(before) >= 0.5;
  return (
    (fiveMinutes.good === 0 && (isSure || run <= -2)) ||
    (minute.good === 0 && run <= -3) ||
    (healthOf(minute) < enough && isSure && run <= (isMixed ? -3 : -2)) ||
    (run <= (isMostlyBad ? -20 : -10) && runMs >= 8_000) ||
    (healthOf(minute) >= enough && shareOf(minute) >= 0.9)
  );
}

function isTroubled({ minute, fiveMinutes, run, isSure, troubledFrom }: Evidence): boolean {
  if (run > 0) return false;
  const span = healthOf(minute) >= enough ? minute : fiveMinutes;
  return (span.bad >= 2 || span.good === 0 || isSure) && shareOf(span) >= troubledFrom;
}

const isWell = ({ minute, run }: Evidence): boolean => run >= 3 && shareOf(minute) <= 0.02;

/** One of three calls can answer every message, since calls are tried again. */
const isBack = ({ minute, run }: Evidence): boolean =>
  run > 0 && (run >= 5 || shareOf(minute) <= 0.75);

/** How the whole stands whose parts stand so; of what is unknown nothing follows. */
export function standingOfAll(parts: readonly Standing[]): Standing {
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

// How things stand, in words: the same on the pages and at a terminal.

/** Of a model or a provider, in a word or a few. */
export const standingWords: Readonly<Record<Standing, string>> = {
  up: 'up',
  degraded: 'fails at some calls',
  failing: 'failing',
  unknown: 'not asked lately',
};

type HealthSentencesSpan = { readonly answers: number; readonly failures: number };
type Spans = { readonly oneMinute: HealthSentencesSpan; readonly fiveMinutes: HealthSentencesSpan };

/** Of what a window counts, and how that fails. */
const counted = {
  calls: { one: 'call', failed: 'failed' },
  messages: { one: 'message', failed: 'got no answer' },
} as const;

/** @returns null: nothing was asked in five minutes */
export function describeFailed(window: Spans | null, of: keyof typeof counted): string | null {
  if (window === null) return null;
  const { answers, failures } = window.fiveMinutes;
  if (answers + failures === 0) return null;
  const { one, failed } = counted[of];
  const many = failures === 0 ? 'none' : `${failures}`;
  return `${many} of ${plural(answers + failures, one)} ${failed} in the last 5 minutes`;
}

type Asked = { readonly window: Spans | null; readonly answeredByOthers: number | null };

/** Whether calls of it failed, others answered, and no other model had to: retries answer. */
export function isRescued({ window, answeredByOthers }: Asked): boolean {
  const { answers = 0, failures = 0 } = window?.fiveMinutes ?? {};
  return answers > 0 && failures > 0 && answeredByOthers === 0;
}

/**
 * How it failed, and of which model, as it stands behind a colon.
 * @param say how the model is named there
 */
export function describeCause(
  model: string | null,
  reason: FailureKind | null,
  say: (model: string) => string = formatModelName,
): string {
  if (model === null) return '';
  const name = say(model);
  return reason === null ? name : `${name}: ${failure(reason).detail}`;
}
