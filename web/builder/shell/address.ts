/**
 * Keeps the selection in the page's URL: `?view=form&at=brains[0].models[1]`. The URL holds only
 * indexes and keys of the schema, so no text of a person.
 */
import { useEffect } from 'react';
import type { JsonObject } from '../../../src/config/locate.ts';
import { goTo, usePlace } from '../../kit/place.ts';
import { fieldAt } from '../document/fields.ts';
import {
  isSamePath,
  pathOf,
  startsWith,
  textOf,
  type Path,
} from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { pageOf } from '../outline/tree.ts';
import { leadTo } from './going.ts';

/** Empty if the schema has no such path. */
export function addressOf(path: Path): string {
  return fieldAt(path) === null ? '' : textOf(path);
}

/** The path in a URL; the whole configuration if it names no valid path. */
export function placeNamed(at: string): Path {
  try {
    const path = pathOf(at);
    return addressOf(path) === '' ? [] : path;
  } catch {
    return [];
  }
}

/** Whether a URL already names the selection, or a field of it. */
export function isAddressOf(at: string, selection: Path, document: JsonObject): boolean {
  const path = placeNamed(at);
  return startsWith(path, selection) && isSamePath(pageOf(path, document), selection);
}

/** Keeps the URL and the selection equal. Use it once, with a draft. */
export function useAddress(): void {
  const { view = '', at = '' } = usePlace();
  const selection = useDraft((state) => state.selection);
  useEffect(() => {
    follow();
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, []);
  useEffect(() => {
    const { document } = useDraft.getState();
    if (isAddressOf(at, selection, document)) return;
    goTo({ view, at: addressOf(selection) }, { replace: true });
  }, [view, at, selection]);
}

/** Selects the path in the URL, and focuses the field if it names a field. */
function follow(): void {
  const path = placeNamed(new URLSearchParams(location.search).get('at') ?? '');
  const { document, select } = useDraft.getState();
  const page = pageOf(path, document);
  select(page);
  if (!isSamePath(page, path)) leadTo(path);
}
