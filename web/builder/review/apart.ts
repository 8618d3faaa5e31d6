/** What of a draft can be applied while svc runs, apart from what needs a restart. */
import { keyed } from '../../../src/config/changes/entries.ts';
import { restartFields } from '../../../src/config/changes/lifetime.ts';
import type { ConfigProblem } from '../../../src/config/config.ts';
import { removeAt, setValue } from '../../../src/config/edit/edit-text.ts';
import { pathOf, type Path } from '../../../src/config/edit/path.ts';
import { locate, type JsonObject } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import { keysAt } from '../document/fields.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isEqual, valueAt } from '../document/value.ts';

export type Apart =
  /** The text of the draft without what needs the restart. */
  | { readonly kind: 'rest'; readonly text: string }
  /** Nothing else is changed. */
  | { readonly kind: 'alone' }
  /** The rest cannot run without it. */
  | { readonly kind: 'together'; readonly problem: ConfigProblem };

/**
 * @param base what is in use
 * @param text of the draft, a JSON object
 * @param fields that need a restart, as paths in the draft
 */
export function apartFrom(base: JsonObject, text: string, fields: readonly string[]): Apart {
  const draft = documentOf(text);
  // From the end, so that no entry of a list before it moves.
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

/** The same channel or brain stands elsewhere in what is in use, where entries came or went. */
function placeBefore(path: Path, draft: JsonObject, base: JsonObject): Path {
  const [list, at, ...inside] = path;
  if (typeof list !== 'string' || typeof at !== 'number') return path;
  const { key } = keyed(draft[list], list)[at] ?? {};
  const before = keyed(base[list], list).find((one) => one.key === key);
  return [list, before?.index ?? -1, ...inside];
}

function documentOf(text: string): JsonObject {
  const { value } = locate(text);
  return isObject(value) ? value : {};
}
