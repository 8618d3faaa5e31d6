/** The filter of the message list, as the page's URL holds it. */
import { dayMs, hourMs } from '../../../src/lib/durations.ts';
import { messageStates, type MessageFilter } from '../../../src/domain/records.ts';
import { turnOutcomes } from '../../../src/domain/trace.ts';
import type { Place } from '../../kit/place.ts';

/** The time spans, by their names in the URL. */
export const spans = {
  '5m': { label: 'the last 5 minutes', ms: 300_000 },
  '1h': { label: 'the last hour', ms: hourMs },
  '1d': { label: 'the last day', ms: dayMs },
} as const;

type Span = keyof typeof spans;

/** An unknown value counts as no filter. @param now milliseconds since 1970 */
export function filterOf(place: Place, now: number): MessageFilter {
  const within = spans[place['within'] as Span] as { readonly ms: number } | undefined;
  return {
    channel: place['channel'] ?? null,
    brain: place['brain'] ?? null,
    state: messageStates.find((state) => state === place['state']) ?? null,
    outcome: turnOutcomes.find((outcome) => outcome === place['outcome']) ?? null,
    since: within === undefined ? timeIn(place['since']) : now - within.ms,
    until: within === undefined ? timeIn(place['until']) : null,
  };
}

function timeIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The query string of the API path `messages`. */
export function queryOf(filter: MessageFilter, after: string | null, limit: number): string {
  const given = Object.entries({ ...filter, after, limit }).flatMap(([name, value]) =>
    value === null ? [] : [[name, String(value)]],
  );
  return `?${new URLSearchParams(given).toString()}`;
}
