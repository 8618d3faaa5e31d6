/**
 * Paths of a configuration in the words of the outline: a brain by its name instead of its index.
 */
import { pathOf, textOf } from '../../../src/config/edit/path.ts';
import type { JsonObject } from '../../../src/config/locate.ts';
import { visible } from '../../kit/visible.ts';
import { crumbsOf } from './tree.ts';

/**
 * `brains[1].models[0].base_url` → `triage › llama3.2: base_url`. A path outside the outline stays
 * as it is.
 * @param path in the form that problems use
 */
export function placeWords(path: string, document: JsonObject): string {
  const place = pathOf(path);
  const crumbs = crumbsOf(place, document);
  const last = crumbs.at(-1);
  if (last === undefined) return path;
  // The heading "Brains" adds nothing to the name of a brain.
  const named = crumbs.length > 1 ? crumbs.slice(1) : crumbs;
  const field = textOf(place.slice(last.path.length));
  const whose = named.map(({ label }) => visible(label)).join(' › ');
  return field === '' ? whose : `${whose}: ${field}`;
}

const numbered = /\b(?:channels|brains|routes)\[\d+\](?:\.[A-Za-z_]\w*|\[\d+\])*/g;

/** Replaces each path in a message of svc by its words. */
export function withPlaces(said: string, document: JsonObject): string {
  return said.replaceAll(numbered, (path) => placeWords(path, document));
}
