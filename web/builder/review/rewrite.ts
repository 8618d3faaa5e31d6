/** Changes a text to another document's values by small edits: equal parts stay byte for byte. */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { insertEntry, moveEntry, removeAt, setValue } from '../../../src/config/edit/edit-text.ts';
import { keysAt } from '../document/fields.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isEqual, isList, valueAt } from '../document/value.ts';
import { keyedEntries } from '../../../src/config/changes/entries.ts';

/** @param text of a JSON object */
export function rewrite(text: string, target: JsonObject): string {
  const writer = new Writer(text);
  writer.objects([], target);
  return writer.text;
}

class Writer {
  text: string;

  constructor(text: string) {
    this.text = text;
  }

  objects(path: Path, target: JsonObject): void {
    const now = this.#valueAt(path);
    for (const key of isObject(now) ? Object.keys(now) : []) {
      if (!Object.hasOwn(target, key)) this.#take(removeAt(this.text, [...path, key]));
    }
    for (const [key, value] of Object.entries(target)) this.#member([...path, key], value);
  }

  #member(path: Path, target: Json): void {
    const now = this.#valueAt(path);
    if (isEqual(now, target)) return;
    if (isObject(now) && isObject(target)) this.objects(path, target);
    else if (areEntries(now) && areEntries(target)) this.#entries(path, target);
    else this.#take(setValue(this.text, path, target, keysAt));
  }

  /** Removes missing entries, then moves each entry to its index, from the first on. */
  #entries(path: Path, target: readonly Json[]): void {
    const name = String(path.at(-1));
    const wanted = keyedEntries(target, name);
    const keys = new Set(wanted.map(({ key }) => key));
    for (const { key, index } of [...keyedEntries(this.#valueAt(path), name)].reverse()) {
      if (!keys.has(key)) this.#take(removeAt(this.text, [...path, index]));
    }
    for (const { key, index, value } of wanted) {
      const from = keyedEntries(this.#valueAt(path), name).find((one) => one.key === key)?.index;
      if (from === undefined) this.#take(insertEntry(this.text, path, index, value, keysAt));
      else if (from !== index) this.#take(moveEntry(this.text, path, from, index));
      this.#member([...path, index], value);
    }
  }

  #valueAt(path: Path): Json | undefined {
    return valueAt(JSON.parse(this.text.replace(/^\uFEFF/, '')) as Json, path);
  }

  #take(text: string | null): void {
    if (text !== null) this.text = text;
  }
}

function areEntries(value: Json | undefined): value is readonly Json[] {
  return isList(value) && value.every((entry) => isObject(entry));
}
