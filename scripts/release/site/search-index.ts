/**
 * The index of the site's search, and the script that queries it. Both are scripts, since a page
 * opened as a file may load nothing else.
 */
import { join } from 'node:path';
import MiniSearch from 'minisearch';
import { rolldown } from 'rolldown';
import { indexName, searchOptions } from '../../../web/site/search-options.ts';
import type { Rendered } from './markdown.ts';
import type { Source } from './shelves.ts';

type Page = { readonly source: Source; readonly rendered: Rendered };

export function searchIndexOf(pages: readonly Page[]): string {
  const entries = pages.flatMap(({ source, rendered }) =>
    rendered.sections.map(({ anchor, heading, text }) => ({
      url: anchor === '' ? source.url : `${source.url}#${anchor}`,
      title: source.title,
      heading,
      text,
    })),
  );
  const index = new MiniSearch(searchOptions);
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));
  return `${indexName} = ${JSON.stringify(index)};\n`;
}

/** Makes one classic script: a page opened as a file runs no module. */
export async function searchScript(root: string): Promise<string> {
  const bundle = await rolldown({ input: join(root, 'web/site/search.ts'), platform: 'browser' });
  const { output } = await bundle.generate({ format: 'iife', minify: true });
  await bundle.close();
  return output[0].code;
}
