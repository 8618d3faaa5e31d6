/** How things stand, in words: the same on the pages and at a terminal. */
import { failure, type FailureKind } from './failure.ts';
import { formatModelName } from './model-words.ts';
import { plural } from './plural.ts';
import type { Standing } from './health.ts';

/** Of a model or a provider, in a word or a few. */
export const standingWords: Readonly<Record<Standing, string>> = {
  up: 'up',
  degraded: 'fails at some calls',
  failing: 'failing',
  unknown: 'not asked lately',
};

type Span = { readonly answers: number; readonly failures: number };
type Spans = { readonly oneMinute: Span; readonly fiveMinutes: Span };

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
