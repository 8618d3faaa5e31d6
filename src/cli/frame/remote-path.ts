import { Unanswered } from './admin-client.ts';

/** One segment of a path. URLs take `.` and `..` away, also when they are escaped. */
export function part(text: string): string {
  if (text !== '.' && text !== '..') return encodeURIComponent(text);
  throw new Unanswered(`No address can name "${text}"; stop svc and try again.`);
}
