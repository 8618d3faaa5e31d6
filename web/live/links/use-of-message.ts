import type { Story } from '../../../src/domain/story.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { usePages, type Pages } from '../use-pages.ts';

/**
 * A list of the API, or what one message tells of the same.
 * @param message null: the list is meant
 * @param rowsIn the rows of a message
 */
export function usePagesOf<Row>(
  path: string,
  message: string | null,
  rowsIn: (story: Story) => readonly Row[],
): Pages<Row> {
  const all = usePages<Row>(message === null ? path : null);
  const of = useAsked<Story>(message === null ? null : `messages/${encodeURIComponent(message)}`);
  if (message === null) return all;
  const { value, refused, again } = of;
  return { rows: value === null ? null : rowsIn(value), refused, older: null, again };
}
