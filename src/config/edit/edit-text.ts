/**
 * Small edits of a configuration's text. An edit changes one place. Everything else stays byte for
 * byte: the order of keys, indents, line ends, and notes. An edit returns null if the text is not
 * JSON, or if its path leads nowhere.
 */
import { locate, type Json, type Place } from '../locate.ts';
import type { Path } from './path.ts';
import { isObject } from '../../lib/json.ts';
import { isEqual, isList } from '../json-value.ts';

export type Edit =
  /** Sets the value at a path, and adds missing objects around it. */
  | { readonly kind: 'set'; readonly path: Path; readonly value: Json }
  /** Removes a member of an object, or an entry of a list. */
  | { readonly kind: 'remove'; readonly path: Path }
  /** Inserts an entry before the one at `index`. It adds the list if there is none. */
  | {
      readonly kind: 'insert';
      readonly list: Path;
      readonly index: number;
      readonly value: Json;
    }
  | { readonly kind: 'move'; readonly list: Path; readonly from: number; readonly to: number }
  | { readonly kind: 'rename'; readonly path: Path; readonly key: string };

/** The keys that the object at a path may have, in the preferred order. */
export type KeyOrder = (path: Path) => readonly string[];

export function editText(text: string, edit: Edit, order: KeyOrder): string | null {
  switch (edit.kind) {
    case 'set':
      return setValue(text, edit.path, edit.value, order);
    case 'remove':
      return removeAt(text, edit.path);
    case 'insert':
      return insertEntry(text, edit.list, edit.index, edit.value, order);
    case 'move':
      return moveEntry(text, edit.list, edit.from, edit.to);
    case 'rename':
      return renameKey(text, edit.path, edit.key);
    default:
      return edit satisfies never;
  }
}

export function setValue(text: string, path: Path, value: Json, order: KeyOrder): string | null {
  const { whole } = locate(text);
  if (whole === null) return null;
  let place = whole;
  let around: Place | null = null;
  for (const [depth, step] of path.entries()) {
    const next = entryAt(text, place, step);
    if (next === null) {
      const missing = path.slice(depth).filter((one) => typeof one === 'string');
      if (missing.length < path.length - depth) return null;
      if (isNull(text, place)) return putAt(text, place, around, wrap(missing, value));
      if (!isObjectAt(text, place)) return null;
      const member = [missing[0]!, wrap(missing.slice(1), value)] as const;
      return addMember(text, place, around, member, order(path.slice(0, depth)));
    }
    [place, around] = [next, place];
  }
  return isEqual(valueAt(text, place), value) ? text : putAt(text, place, around, value);
}

function wrap(keys: readonly string[], value: Json): Json {
  return keys.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
}

/** Replaces a value. @param around the object or list around it; null: it is the whole text */
function putAt(text: string, place: Place, around: Place | null, value: Json): string {
  const isInline = around !== null && isOnOneLine(text, around);
  const indent = isInline ? null : indentAt(text, place.value);
  return splice(text, place.value, place.end, write(value, indent, layoutOf(text)));
}

/** Removes a member or an entry with its comma. */
export function removeAt(text: string, path: Path): string | null {
  const location = locationOf(text, path);
  if (location === null || location.around === null) return null;
  const { place, around } = location;
  const { entries } = around;
  if (entries.length === 1) return splice(text, around.value + 1, around.end - 1, '');
  const at = entries.indexOf(place);
  if (at === 0) return splice(text, place.key, entries[1]!.key, '');
  return splice(text, entries[at - 1]!.end, place.end, '');
}

export function insertEntry(
  text: string,
  path: Path,
  index: number,
  value: Json,
  order: KeyOrder,
): string | null {
  const location = locationOf(text, path);
  if (location === null || isNull(text, location.place)) {
    return setValue(text, path, [value], order);
  }
  const { place: list, around } = location;
  if (text[list.value] !== '[') return null;
  const { entries } = list;
  if (entries.length === 0) return putAt(text, list, around, [value]);
  const indent = isOnOneLine(text, list) ? null : indentAt(text, entries[0]!.key);
  return addEntry(text, entries, index, write(value, indent, layoutOf(text)), indent);
}

/** Moves an entry of a list. The text between the entries stays where it is. */
export function moveEntry(text: string, path: Path, from: number, to: number): string | null {
  const entries = locationOf(text, path)?.place.entries ?? [];
  if (from === to || entries[from] === undefined || entries[to] === undefined) return null;
  const texts = entries.map(({ key, end }) => text.slice(key, end));
  const moved = texts.toSpliced(from, 1).toSpliced(to, 0, texts[from]!);
  let result = text;
  for (const [at, { key, end }] of [...entries.entries()].reverse()) {
    result = splice(result, key, end, moved[at]!);
  }
  return result;
}

export function renameKey(text: string, path: Path, key: string): string | null {
  const place = locationOf(text, path)?.place ?? null;
  if (place === null || place.name === null) return null;
  return splice(text, place.key, place.keyEnd, JSON.stringify(key));
}

function addMember(
  text: string,
  object: Place,
  around: Place | null,
  [key, value]: readonly [string, Json],
  order: readonly string[],
): string {
  const layout = layoutOf(text);
  const { entries } = object;
  if (entries.length === 0) return putAt(text, object, around, { [key]: value });
  const indent = isOnOneLine(text, object) ? null : indentAt(text, entries[0]!.key);
  const content = JSON.stringify(key) + layout.colon + write(value, indent, layout);
  const keys = entries.map(({ name }) => name!);
  return addEntry(text, entries, placeFor(key, keys, order), content, indent);
}

/** The index for a new key: behind the last key that comes before it in `order`. */
function placeFor(key: string, keys: readonly string[], order: readonly string[]): number {
  const rank = order.indexOf(key);
  if (rank < 0) return keys.length;
  const lastBefore = keys.findLastIndex((other) => {
    const otherRank = order.indexOf(other);
    return otherRank >= 0 && otherRank < rank;
  });
  if (lastBefore >= 0) return lastBefore + 1;
  const firstOrdered = keys.findIndex((other) => order.includes(other));
  return firstOrdered < 0 ? keys.length : firstOrdered;
}

function addEntry(
  text: string,
  entries: readonly Place[],
  index: number,
  content: string,
  indent: string | null,
): string {
  const { comma, lineEnd } = layoutOf(text);
  const gap = indent === null ? comma : `,${lineEnd}${indent}`;
  const previous = entries[Math.min(index, entries.length) - 1];
  if (previous === undefined) {
    const { key } = entries[0]!;
    return splice(text, key, key, content + gap);
  }
  return splice(text, previous.end, previous.end, gap + content);
}

type Location = {
  readonly place: Place;
  /** The object or list around the value; null: the value is the whole text. */
  readonly around: Place | null;
};

function locationOf(text: string, path: Path): Location | null {
  let place = locate(text).whole;
  let around: Place | null = null;
  for (const step of path) {
    if (place === null) return null;
    [place, around] = [entryAt(text, place, step), place];
  }
  return place === null ? null : { place, around };
}

/** If a key is there twice, the last one counts. */
function entryAt(text: string, { value, entries }: Place, step: string | number): Place | null {
  if (typeof step === 'number') return text[value] === '[' ? (entries[step] ?? null) : null;
  return entries.findLast(({ name }) => name === step) ?? null;
}

const isObjectAt = (text: string, { value }: Place): boolean => text[value] === '{';
const isNull = (text: string, { value }: Place): boolean => text[value] === 'n';

/** Whether the entries begin on the line of their opening bracket. */
function isOnOneLine(text: string, { value, entries }: Place): boolean {
  const first = entries[0];
  return first !== undefined && !text.slice(value, first.key).includes('\n');
}

function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start))![0];
}

function valueAt(text: string, { value, end }: Place): Json {
  return JSON.parse(text.slice(value, end)) as Json;
}

function splice(text: string, from: number, to: number, content: string): string {
  return text.slice(0, from) + content + text.slice(to);
}

/** The layout of a text. A new value gets the same layout. */
type Layout = {
  /** One level of indent; null: the whole text is one line, and stays so. */
  readonly unit: string | null;
  readonly lineEnd: string;
  readonly colon: string;
  readonly comma: string;
  /** The text between a brace and its content on one line. */
  readonly pad: string;
};

/** The last column for a value on one line. */
const columns = 100;

function layoutOf(text: string): Layout {
  const isTight = /"\s*:\S/.test(text) && !/"\s*:\s/.test(text);
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const isOneLine = !text.trim().includes('\n') && /[{[][^]*\S[^]*[}\]]/.test(text);
  return {
    unit: isOneLine ? null : (/\n([ \t]+)\S/.exec(text)?.[1] ?? '  '),
    lineEnd,
    colon: isTight ? ':' : ': ',
    comma: isTight ? ',' : ', ',
    pad: /\{"/.test(text) ? '' : ' ',
  };
}

/**
 * Writes a value.
 * @param indent the indent of the line where the value begins; null: the value stays on that line
 */
function write(value: Json, indent: string | null, layout: Layout): string {
  const oneLine = writeInline(value, layout);
  if (indent === null || layout.unit === null || !isContainer(value)) return oneLine;
  if (isFlat(value) && indent.length + oneLine.length <= columns) return oneLine;
  const inner = indent + layout.unit;
  const entries = isList(value)
    ? value.map((entry) => write(entry, inner, layout))
    : Object.entries(value).map(
        ([key, entry]) => JSON.stringify(key) + layout.colon + write(entry, inner, layout),
      );
  const [open, close] = isList(value) ? '[]' : '{}';
  const { lineEnd } = layout;
  const lines = entries.map((entry) => lineEnd + inner + entry).join(',');
  return `${open}${lines}${lineEnd}${indent}${close}`;
}

function writeInline(value: Json, layout: Layout): string {
  if (isList(value)) {
    return `[${value.map((entry) => writeInline(entry, layout)).join(layout.comma)}]`;
  }
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, entry]) => JSON.stringify(key) + layout.colon + writeInline(entry, layout),
  );
  const pad = entries.length === 0 ? '' : layout.pad;
  return `{${pad}${entries.join(layout.comma)}${pad}}`;
}

function isContainer(value: Json): value is Extract<Json, object> {
  return typeof value === 'object' && value !== null;
}

/** Whether no entry has entries itself, so that the value is easy to read on one line. */
function isFlat(value: Extract<Json, object>): boolean {
  const entries: readonly Json[] = Object.values(value);
  return entries.every((entry) => !isContainer(entry) || Object.keys(entry).length === 0);
}
