/**
 * What is selected, in the page's address: `?view=form&at=brains[0].models[1]`. It holds places
 * and keys of the schema alone, so nothing that a person wrote.
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

/** Empty where the schema has no such place. */
export function addressOf(path: Path): string {
  return fieldAt(path) === null ? '' : textOf(path);
}

/** The place in an address, whoever wrote it; the whole configuration where it names no place. */
export function placeNamed(at: string): Path {
  try {
    const path = pathOf(at);
    return addressOf(path) === '' ? [] : path;
  } catch {
    return [];
  }
}

/** Whether an address already names the selected place, or a field of it. */
export function tells(at: string, selection: Path, document: JsonObject): boolean {
  const path = placeNamed(at);
  return startsWith(path, selection) && isSamePath(pageOf(path, document), selection);
}

/** Keeps the address and the selection the same; to be used once, over a draft. */
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
    if (tells(at, selection, document)) return;
    goTo({ view, at: addressOf(selection) }, { replace: true });
  }, [view, at, selection]);
}

/** Selects the place that the address names, and leads to the field where it names a field. */
function follow(): void {
  const path = placeNamed(new URLSearchParams(location.search).get('at') ?? '');
  const { document, select } = useDraft.getState();
  const page = pageOf(path, document);
  select(page);
  if (!isSamePath(page, path)) leadTo(path);
}
