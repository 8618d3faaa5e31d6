import type { Story } from '../../../src/domain/story.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { usePages, type Pages } from '../use-pages.ts';

/**
 * The rows of an API list, or the same rows of one message.
 * @param message null: the whole list
 * @param rowsIn gets the rows from a message's story
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
