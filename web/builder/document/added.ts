/** Adds new entries to the lists of the draft. */
import type { Path } from '../../../src/config/edit/path.ts';
import type { Json } from '../../../src/config/locate.ts';
import { placeOfNew, startOf } from './starts.ts';
import { useDraft } from './store.ts';
import { isList, valueAt } from './value.ts';

/**
 * Adds an entry to a list, where it belongs.
 * @param value absent: the initial value of such an entry
 * @returns the path of what a person fills in first: the entry, or the name of another channel of
 * its type; null: the text is no JSON
 */
export function addEntry(list: Path, value?: Json): Path | null {
  const draft = useDraft.getState();
  const entries = valueAt(draft.document, list);
  const end = isList(entries) ? entries.length : 0;
  const entry = value ?? startOf([...list, end], draft.document);
  const at = placeOfNew(list, entry, draft.document);
  if (!draft.insert(list, at, entry)) return null;
  const path = [...list, at];
  const isNamed = list[0] === 'channels' && valueAt(entry, ['name']) !== undefined;
  return isNamed ? [...path, 'name'] : path;
}
