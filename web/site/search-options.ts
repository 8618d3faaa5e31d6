/** The options of the search index, for the build and for the search. */
import type { Options } from 'minisearch';

/** A section of a page, as the search finds it. */
export type Entry = {
  readonly id: number;
  /** From the root of the site, with the anchor. */
  readonly url: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
};

/** The global variable that the index script sets. */
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
