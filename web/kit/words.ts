/** Numbers and times in words. Lengths are in milliseconds, times in milliseconds since 1970. */
const decimals = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat();
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const weekday = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' });
const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** The time zone of every time on the page: `Europe/Berlin`. */
export const { timeZone } = clock.resolvedOptions();
export const timeOfDay = (at: number): string => clock.format(at);
export const longDate = (at: number): string => weekday.format(at);
export const shortDate = (at: number): string => shortDay.format(at);

export const count = (n: number): string => whole.format(n);

/** `7 ms`, `1.2 s`, `3 min 5 s`, `2 h 4 min`, `5 d 3 h`. */
export function length(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1) return '< 1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${decimals.format(ms / 1_000)} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 3_600) return two(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1_440) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  return two(Math.floor(minutes / 1_440), 'd', Math.floor((minutes % 1_440) / 60), 'h');
}

function two(much: number, unit: string, little: number, smaller: string): string {
  return little === 0 ? `${much} ${unit}` : `${much} ${unit} ${little} ${smaller}`;
}

/** The time of day; on another day than today, with the date. */
export function moment(at: number | null, now = Date.now()): string {
  if (at === null) return '–';
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return (isToday ? clock : day).format(at);
}

/** `just now`, `3 min ago`. */
export function ago(at: number | null, now = Date.now()): string {
  if (at === null) return 'never';
  const ms = Math.max(0, now - at);
  return ms < 2_000 ? 'just now' : `${length(Math.floor(ms / 1_000) * 1_000)} ago`;
}

/** The time since a moment, in whole seconds, for a counter on the page. */
export function lasted(since: number, now = Date.now()): string {
  return length(Math.max(1_000, Math.floor((now - since) / 1_000) * 1_000));
}

/** `now`, `in 3 min`. */
export function ahead(at: number, now = Date.now()): string {
  const ms = at - now;
  return ms < 1_000 ? 'now' : `in ${length(Math.floor(ms / 1_000) * 1_000)}`;
}

/** `no_consensus` → `no consensus`. */
export const spaced = (code: string): string => code.replaceAll('_', ' ');

/** Makes the first letter a capital. */
export const upper = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** `1 message`, `2 messages`. */
export function some(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Ends a sentence with a full stop if it has no end, so that another can follow. */
export const sentence = (words: string): string => (/[.!?…:]$/.test(words) ? words : `${words}.`);
