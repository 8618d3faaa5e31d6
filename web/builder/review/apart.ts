/**
 * Separates the changes of a draft that svc can apply while it runs from those that need a restart.
 */
import { keyedEntries } from '../../../src/config/changes/entries.ts';
import { restartFields } from '../../../src/config/changes/lifetime.ts';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { removeAt, setValue } from '../../../src/config/edit/edit-text.ts';
import { pathOf, type Path } from '../../../src/config/edit/path.ts';
import { locate, type JsonObject } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import { keysAt } from '../document/fields.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isEqual, valueAt } from '../document/value.ts';

export type Apart =
  /** The text of the draft without the changes that need a restart. */
  | { readonly kind: 'rest'; readonly text: string }
  /** The draft has no other change. */
  | { readonly kind: 'alone' }
  /** The other changes are invalid without it. */
  | { readonly kind: 'together'; readonly problem: ConfigProblem };

/**
 * @param base the document in use
 * @param text of the draft, a JSON object
 * @param fields that need a restart, as paths in the draft
 */
export function apartFrom(base: JsonObject, text: string, fields: readonly string[]): Apart {
  const draft = documentOf(text);
  // From the end, so that no index before it changes.
  const rest = fields.toReversed().reduce((so, field) => {
    const path = pathOf(field);
    const before = valueAt(base, placeBefore(path, draft, base));
    const edited = before === undefined ? removeAt(so, path) : setValue(so, path, before, keysAt);
    return edited ?? so;
  }, text);
  const document = documentOf(rest);
  if (isEqual(document, base)) return { kind: 'alone' };
  const problem = validateText(rest).problems.find(({ severity }) => severity === 'error');
  if (problem !== undefined) return { kind: 'together', problem };
  return restartFields(base, document).length === 0
    ? { kind: 'rest', text: rest }
    : { kind: 'alone' };
}

/** The path of the same channel or brain in the document in use, where its index may differ. */
function placeBefore(path: Path, draft: JsonObject, base: JsonObject): Path {
  const [list, at, ...inside] = path;
  if (typeof list !== 'string' || typeof at !== 'number') return path;
  const { key } = keyedEntries(draft[list], list)[at] ?? {};
  const before = keyedEntries(base[list], list).find((one) => one.key === key);
  return [list, before?.index ?? -1, ...inside];
}

function documentOf(text: string): JsonObject {
  const { value } = locate(text);
  return isObject(value) ? value : {};
}
