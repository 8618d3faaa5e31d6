/** The filter of the message list, as the page's URL holds it. */
import { dayMs, hourMs } from '../../../src/lib/durations.ts';
import { stateFilters, type MessageFilter, type MessagePage } from '../../../src/domain/records.ts';
import { turnOutcomes } from '../../../src/domain/trace.ts';
import type { Place } from '../../kit/place.ts';

/** The time spans, by their names in the URL. */
export const spans = {
  '1m': { label: 'the last minute', ms: 60_000 },
  '5m': { label: 'the last 5 minutes', ms: 300_000 },
  '1h': { label: 'the last hour', ms: hourMs },
  '1d': { label: 'the last day', ms: dayMs },
  '7d': { label: 'the last 7 days', ms: 7 * dayMs },
  '30d': { label: 'the last 30 days', ms: 30 * dayMs },
} as const;

/** @returns null if the URL names no span */
export const spanIn = ({ within }: Place): { readonly ms: number } | null =>
  Object.entries(spans).find(([name]) => name === within)?.[1] ?? null;

/** An unknown value counts as no filter. @param now milliseconds since 1970 */
export function filterOf(place: Place, now: number): MessageFilter {
  const within = spanIn(place);
  return {
    channel: place['channel'] ?? null,
    brain: place['brain'] ?? null,
    state: stateFilters.find((state) => state === place['state']) ?? null,
    outcome: turnOutcomes.find((outcome) => outcome === place['outcome']) ?? null,
    since: within === null ? timeIn(place['since']) : now - within.ms,
    until: within === null ? timeIn(place['until']) : null,
  };
}

/** @returns null if the text is no time in milliseconds */
export function timeIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** A time as a calendar input has it, in the person's time zone: `2026-12-01T14:05:00`. */
export function calendarText(at: number | null): string {
  if (at === null) return '';
  const offsetMs = new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - offsetMs).toISOString().slice(0, 19);
}

/** The query string of the API path `messages`. */
export function queryOf(filter: MessageFilter, page: MessagePage): string {
  const given = Object.entries({ ...filter, ...page }).flatMap(([name, value]) =>
    value === null ? [] : [[name, String(value)]],
  );
  return `?${new URLSearchParams(given).toString()}`;
}
