/**
 * Small edits of a configuration's text. Each changes what it is about and nothing else: order of
 * keys, indents, line ends and notes of the person who wrote it stay byte for byte. An edit gives
 * null where the text is no JSON, or where its path leads nowhere.
 */
import { parseTree, type Node, type ParseError } from 'jsonc-parser';
import type { Json } from '../../../src/config/locate.ts';
import { layoutOf, write } from './layout.ts';
import type { Path } from './path.ts';
import { isEqual } from './value.ts';

export type Edit =
  /** Puts a value at a path, with the objects around it that are missing. */
  | { readonly kind: 'set'; readonly path: Path; readonly value: Json }
  /** Takes a member or a list's entry out. */
  | { readonly kind: 'remove'; readonly path: Path }
  /** Puts an entry into a list, before the one at `index`; makes the list where there is none. */
  | {
      readonly kind: 'insert';
      readonly list: Path;
      readonly index: number;
      readonly value: Json;
    }
  | { readonly kind: 'move'; readonly list: Path; readonly from: number; readonly to: number }
  | { readonly kind: 'rename'; readonly path: Path; readonly key: string };

/** The keys that an object may have, in the order in which they are best written. */
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
  const tree = treeOf(text);
  if (tree === null) return null;
  let node: Node = tree;
  for (const [depth, step] of path.entries()) {
    const next = childOf(node, step);
    if (next === null) {
      const missing = path.slice(depth).filter((one) => typeof one === 'string');
      if (missing.length < path.length - depth) return null;
      if (node.type === 'null') return putAt(text, node, wrap(missing, value));
      if (node.type !== 'object') return null;
      const member = [missing[0]!, wrap(missing.slice(1), value)] as const;
      return addMember(text, node, member, order(path.slice(0, depth)));
    }
    node = next;
  }
  return isEqual(valueOf(text, node), value) ? text : putAt(text, node, value);
}

function wrap(keys: readonly string[], value: Json): Json {
  return keys.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
}

/** Writes a value in the place of another. */
function putAt(text: string, node: Node, value: Json): string {
  const parent = containerOf(node);
  const indent = parent !== null && isOnOneLine(text, parent) ? null : indentAt(text, node.offset);
  return splice(text, node.offset, endOf(node), write(value, indent, layoutOf(text)));
}

/** Takes the comma along that belongs to it. */
export function removeAt(text: string, path: Path): string | null {
  const tree = treeOf(text);
  const node = tree === null ? null : nodeAt(tree, path);
  const parent = node === null ? null : containerOf(node);
  if (node === null || parent === null) return null;
  const entries = parent.children!;
  const at = entries.findIndex((entry) => entry === node || entry === node.parent);
  const { offset, length } = entries[at]!;
  if (entries.length === 1) {
    return splice(text, parent.offset + 1, parent.offset + parent.length - 1, '');
  }
  if (at === 0) return splice(text, offset, entries[1]!.offset, '');
  return splice(text, endOf(entries[at - 1]!), offset + length, '');
}

export function insertEntry(
  text: string,
  path: Path,
  index: number,
  value: Json,
  order: KeyOrder,
): string | null {
  const tree = treeOf(text);
  const list = tree === null ? null : nodeAt(tree, path);
  if (list === null || list.type === 'null') return setValue(text, path, [value], order);
  if (list.type !== 'array') return null;
  const layout = layoutOf(text);
  const entries = list.children!;
  if (entries.length === 0) return putAt(text, list, [value]);
  const indent = isOnOneLine(text, list) ? null : indentAt(text, entries[0]!.offset);
  return addEntry(text, entries, index, write(value, indent, layout), indent);
}

/** Moves an entry of a list; what stands between the entries stays where it is. */
export function moveEntry(text: string, path: Path, from: number, to: number): string | null {
  const tree = treeOf(text);
  const entries = (tree === null ? null : nodeAt(tree, path))?.children ?? [];
  if (from === to || entries[from] === undefined || entries[to] === undefined) return null;
  const texts = entries.map(({ offset, length }) => text.slice(offset, offset + length));
  const moved = texts.toSpliced(from, 1).toSpliced(to, 0, texts[from]!);
  let result = text;
  for (const [at, { offset }] of [...entries.entries()].reverse()) {
    result = splice(result, offset, offset + texts[at]!.length, moved[at]!);
  }
  return result;
}

/** Gives a member another key. */
export function renameKey(text: string, path: Path, key: string): string | null {
  const tree = treeOf(text);
  const property = (tree === null ? null : nodeAt(tree, path))?.parent;
  if (property === undefined || property.type !== 'property') return null;
  const name = property.children![0]!;
  return splice(text, name.offset, endOf(name), JSON.stringify(key));
}

function addMember(
  text: string,
  object: Node,
  [key, value]: readonly [string, Json],
  order: readonly string[],
): string {
  const layout = layoutOf(text);
  const members = object.children!;
  if (members.length === 0) return putAt(text, object, { [key]: value });
  const indent = isOnOneLine(text, object) ? null : indentAt(text, members[0]!.offset);
  const content = JSON.stringify(key) + layout.colon + write(value, indent, layout);
  const keys = members.map((member) => String(member.children![0]!.value));
  return addEntry(text, members, placeFor(key, keys, order), content, indent);
}

/** After the last key that comes before it; what no order knows stays where it is. */
function placeFor(key: string, keys: readonly string[], order: readonly string[]): number {
  const rank = order.indexOf(key);
  if (rank < 0) return keys.length;
  const before = keys.findLastIndex((other) => {
    const its = order.indexOf(other);
    return its >= 0 && its < rank;
  });
  if (before >= 0) return before + 1;
  const after = keys.findIndex((other) => order.includes(other));
  return after < 0 ? keys.length : after;
}

function addEntry(
  text: string,
  entries: readonly Node[],
  index: number,
  content: string,
  indent: string | null,
): string {
  const { comma, lineEnd } = layoutOf(text);
  const gap = indent === null ? comma : `,${lineEnd}${indent}`;
  const before = entries[Math.min(index, entries.length) - 1];
  if (before === undefined) {
    const { offset } = entries[0]!;
    return splice(text, offset, offset, content + gap);
  }
  return splice(text, endOf(before), endOf(before), gap + content);
}

function treeOf(text: string): Node | null {
  // The parser takes a byte order mark for a letter.
  const plain = text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text;
  const errors: ParseError[] = [];
  const tree = parseTree(plain, errors, { disallowComments: true });
  return tree === undefined || errors.length > 0 ? null : tree;
}

function nodeAt(tree: Node, path: Path): Node | null {
  let node: Node | null = tree;
  for (const step of path) node = node === null ? null : childOf(node, step);
  return node;
}

/** Of a key that is written twice the last one holds. */
function childOf({ type, children = [] }: Node, step: string | number): Node | null {
  if (typeof step === 'number') return type === 'array' ? (children[step] ?? null) : null;
  if (type !== 'object') return null;
  return children.findLast((member) => member.children![0]!.value === step)?.children?.[1] ?? null;
}

/** The object or list that a value stands in. */
function containerOf({ parent }: Node): Node | null {
  return (parent?.type === 'property' ? parent.parent : parent) ?? null;
}

/** Whether its entries stand where its bracket opens. */
function isOnOneLine(text: string, { offset, children = [] }: Node): boolean {
  const first = children[0];
  return first !== undefined && !text.slice(offset, first.offset).includes('\n');
}

function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start))![0];
}

function valueOf(text: string, node: Node): Json {
  return JSON.parse(text.slice(node.offset, endOf(node))) as Json;
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function splice(text: string, from: number, to: number, content: string): string {
  return text.slice(0, from) + content + text.slice(to);
}
