import type { Page } from '../../../src/domain/page.ts';
import { ask, type Answered, type Refused } from '../../kit/api.ts';

const pageRows = 500;

/**
 * Reads the pages of a list behind `after`, until the last one or until the signal aborts.
 * @returns why it stopped before the last page; null: it reached it
 */
export async function readRest<T>(
  path: string,
  after: string | null,
  signal: AbortSignal,
  onPage: (page: Page<T>) => void,
): Promise<Refused | null> {
  for (let next = after; next !== null;) {
    const query = new URLSearchParams({ limit: String(pageRows), after: next });
    const page: Answered<Page<T>> = await ask(`${path}?${query.toString()}`, { signal });
    if (page.kind === 'refused') return page;
    if (signal.aborted) return null;
    onPage(page.value);
    next = page.value.next;
  }
  return null;
}
