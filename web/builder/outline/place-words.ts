/** Places of a configuration in the words of the outline: a brain by its name, not its number. */
import { pathOf, textOf } from '../../../src/config/edit/path.ts';
import type { JsonObject } from '../../../src/config/locate.ts';
import { visible } from '../../kit/visible.ts';
import { crumbsOf } from './tree.ts';

/**
 * `brains[1].models[0].base_url` → `triage › llama3.2: base_url`. A place that nothing in the
 * outline holds stays as it is written.
 * @param path as a problem names it
 */
export function placeWords(path: string, document: JsonObject): string {
  const place = pathOf(path);
  const crumbs = crumbsOf(place, document);
  const last = crumbs.at(-1);
  if (last === undefined) return path;
  // That a brain is one of the brains goes without saying.
  const named = crumbs.length > 1 ? crumbs.slice(1) : crumbs;
  const field = textOf(place.slice(last.path.length));
  const whose = named.map(({ label }) => visible(label)).join(' › ');
  return field === '' ? whose : `${whose}: ${field}`;
}

const numbered = /\b(?:channels|brains|routes)\[\d+\](?:\.[A-Za-z_]\w*|\[\d+\])*/g;

/** What svc says of a configuration, with each place in it in words. */
export function withPlaces(said: string, document: JsonObject): string {
  return said.replaceAll(numbered, (path) => placeWords(path, document));
}
