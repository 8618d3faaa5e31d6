/** Days in a search, such as "last tuesday" or "3 november", in the browser's time zone. */
import type { Named } from './names.ts';

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];

/**
 * The messages of the day that a search names: today, yesterday, a day of the week, a day of a
 * month with or without its year, or a date such as 2026-11-03. A day without a year is past.
 * @returns none: the search names no day
 */
export function daysNamed(search: string, now: Date): readonly Named[] {
  const words = search
    .trim()
    .toLowerCase()
    .split(/[\s,]+/);
  const day = relativeDay(words, now) ?? datedDay(words, now);
  if (day === null || day > now) return [];
  const next = new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1);
  const name = day.toLocaleDateString('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
  });
  const place = { view: 'messages', since: String(+day), until: String(+next) };
  return [{ kind: 'day', name: `Messages of ${name}`, written: search, place }];
}

function relativeDay(words: readonly string[], now: Date): Date | null {
  const [first = ''] = words[0] === 'last' || words[0] === 'on' ? words.slice(1) : words;
  if (words.length > 2 || (words.length === 2 && first === words[0])) return null;
  const daysAgo = (count: number): Date =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - count);
  if (first === 'today') return daysAgo(0);
  if (first === 'yesterday') return daysAgo(1);
  const weekday = indexOfWord(weekdays, first);
  return weekday === -1 ? null : daysAgo((now.getDay() - weekday + 7) % 7 || 7);
}

function datedDay(words: readonly string[], now: Date): Date | null {
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(words.join(' '));
  if (iso !== null) return dayOf(Number(iso[1]), Number(iso[2]) - 1, Number(iso[3]));
  if (words.length !== 2 && words.length !== 3) return null;
  const numbers = words.map((word) => Number(/^(\d{1,2})(?:st|nd|rd|th)?\.?$/.exec(word)?.[1]));
  const [first = 0, second = 0] = numbers;
  const month = indexOfWord(months, words[first > 0 ? 1 : 0] ?? '');
  const day = first > 0 ? first : second;
  if (month === -1 || !(day > 0)) return null;
  if (words.length === 3) return /^\d{4}$/.test(words[2]!) ? dayOf(+words[2]!, month, day) : null;
  const thisYear = dayOf(now.getFullYear(), month, day);
  return thisYear === null || thisYear <= now ? thisYear : dayOf(now.getFullYear() - 1, month, day);
}

/** @returns null: the month has no such day */
function dayOf(year: number, month: number, day: number): Date | null {
  const date = new Date(year, month, day);
  return date.getMonth() === month && date.getDate() === day ? date : null;
}

/** The index of a word by its first three letters or more; -1: none. */
function indexOfWord(all: readonly string[], word: string): number {
  return word.length < 3 ? -1 : all.findIndex((one) => one.startsWith(word.replace(/\.$/, '')));
}
