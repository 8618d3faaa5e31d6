/** What the index of the documents is made with, and read with. */
import type { Options } from 'minisearch';

/** A stretch of a page, as it is found. */
export type Entry = {
  readonly id: number;
  /** From the root of the site, with the anchor. */
  readonly url: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
};

/** The variable of the page that the script with the index sets. */
export const indexName = 'svcSearchIndex';

export const searchOptions: Options<Entry> = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['url', 'title', 'heading'],
  searchOptions: {
    boost: { title: 3, heading: 4 },
    combineWith: 'AND',
    prefix: true,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  },
};
