/** Describes the differences between two objects of the schema in words, field by field. */
import type { Field, ObjectField } from '../field.ts';
import type { JsonObject } from '../locate.ts';
import { isIgnoredKey } from '../shape.ts';
import { isObject } from '../../lib/json.ts';
import { isEqual, isList } from '../json-value.ts';
import { canonical, isAbsent, keyedEntries, type Value } from './entries.ts';

/** `effect` false: the service reads the same as before. `at` is the path below the object. */
export type FieldChange = {
  readonly at: readonly string[];
  readonly text: string;
  readonly effect: boolean;
};

/** @param skip fields that the caller describes */
export function fieldChanges(
  { fields }: ObjectField,
  before: JsonObject,
  after: JsonObject,
  skip: readonly string[] = [],
  at: readonly string[] = [],
): readonly FieldChange[] {
  const keys = new Set([...Object.keys(fields), ...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => {
    if (skip.includes(key) || isEqual(before[key], after[key])) return [];
    const field = fields[key];
    const fieldPath = [...at, key];
    if (field !== undefined) return changeOf(field, before[key], after[key], fieldPath);
    return [unknownChange(fieldPath, key, before[key], after[key])];
  });
}

function unknownChange(
  at: readonly string[],
  key: string,
  before: Value,
  after: Value,
): FieldChange {
  const verb = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
  const what = isIgnoredKey(key) ? `the note ${labelOf(at)}` : labelOf(at);
  return { at, text: `${what} is ${verb}`, effect: !isIgnoredKey(key) };
}

function changeOf(
  field: Field,
  before: Value,
  after: Value,
  at: readonly string[],
): readonly FieldChange[] {
  const label = labelOf(at);
  if (field.type === 'object') return objectChanges(field, before, after, at);
  if (field.type === 'list') {
    const [from, to] = [withDefault(field, before), withDefault(field, after)];
    if (isEqual(from, to)) return [{ at, text: `${label} is written otherwise`, effect: false }];
    const { defaultNote: note } = field;
    if (note !== undefined && (isAbsent(from) || isAbsent(to))) {
      const [old, now] = [from, to].map((list) => (isAbsent(list) ? note : formatValue(list)));
      return [{ at, text: `${label} ${old} → ${now}`, effect: true }];
    }
    return [{ at, text: listChange(label, at.at(-1)!, from, to), effect: true }];
  }
  const [from, to] = [effectiveValue(field, before), effectiveValue(field, after)];
  if (isEqual(from, to)) return [{ at, text: `${label} is written otherwise`, effect: false }];
  return [{ at, text: scalarChange(label, field, before, after), effect: true }];
}

function objectChanges(
  field: ObjectField,
  before: Value,
  after: Value,
  at: readonly string[],
): readonly FieldChange[] {
  const empty = field.default === 'empty' ? {} : undefined;
  const from = isObject(before) ? before : isAbsent(before) ? empty : undefined;
  const to = isObject(after) ? after : isAbsent(after) ? empty : undefined;
  if (from !== undefined && to !== undefined) return fieldChanges(field, from, to, [], at);
  const label = labelOf(at);
  if (from === undefined && to === undefined) {
    return [{ at, text: `${label} is written otherwise`, effect: false }];
  }
  const verb = from === undefined ? 'added' : 'removed';
  return [
    { at, text: `${label} is ${verb}${to === undefined ? '' : blockSummary(to)}`, effect: true },
  ];
}

/** A short summary of a new block. */
function blockSummary(block: JsonObject): string {
  const fields = Object.entries(block).flatMap(([key, value]) => {
    if (isIgnoredKey(key) || isObject(value) || isAbsent(value)) return [];
    if (isList(value) && value.some((entry) => isObject(entry))) return [];
    return [`${key} ${formatValue(value)}`];
  });
  return fields.length === 0
    ? ''
    : `: ${fields.slice(0, 4).join(', ')}${fields.length > 4 ? ' …' : ''}`;
}

function listChange(label: string, name: string, before: Value, after: Value): string {
  const [from, to] = [keyedEntries(before, name), keyedEntries(after, name)];
  const [old, now] = [new Map(from.map((one) => [one.key, one.value])), new Set<string>()];
  for (const { key } of to) now.add(key);
  const changes = [
    ...to.flatMap(({ key, value }) => {
      if (!old.has(key)) return [`${key} is added${modeOf(value)}`];
      return isEqual(old.get(key), value) ? [] : [`${key} is changed${modeOf(value)}`];
    }),
    ...from.flatMap(({ key }) => (now.has(key) ? [] : [`${key} is removed`])),
  ];
  if (changes.length > 0 && name !== 'order') return `${label}: ${changes.join(', ')}`;
  const chain = (list: readonly { readonly key: string }[]): string =>
    list.length === 0 ? 'none' : list.map(({ key }) => key).join(', ');
  return `${label} ${chain(from)} → ${chain(to)}`;
}

function modeOf(grant: Value): string {
  return isObject(grant) && typeof grant['mode'] === 'string' ? ` (${grant['mode']})` : '';
}

function scalarChange(label: string, field: Field, before: Value, after: Value): string {
  const long = [before, after].some((value) => typeof value === 'string' && value.length > 60);
  if (!long) return `${label} ${describeValue(field, before)} → ${describeValue(field, after)}`;
  const length = (value: Value): number =>
    typeof value === 'string' ? Array.from(value).length : 0;
  return `${label} is rewritten (${length(before)} → ${length(after)} characters)`;
}

function describeValue(field: Field, value: Value): string {
  if (!isAbsent(value)) return formatValue(value);
  if (field.type === 'object') return 'none';
  if (field.default !== undefined) return `${formatValue(field.default)} (the default)`;
  const hasNote = 'defaultNote' in field && field.defaultNote !== undefined;
  return hasNote ? 'the default' : 'none';
}

/** The value that the service reads: the name for a synonym, the default for an absent value. */
export function effectiveValue(field: Field, value: Value): Value {
  const filled = withDefault(field, value);
  if (field.type === 'choice' && typeof filled === 'string') return canonical(filled);
  return field.type === 'integer' && field.zeroIsDefault === true && filled === 0
    ? field.default
    : filled;
}

function withDefault(field: Field, value: Value): Value {
  if (field.type === 'object') return value;
  const absent = field.type === 'list' ? value === undefined || value === null : isAbsent(value);
  return absent ? (field.default ?? null) : value;
}

function formatValue(value: Value): string {
  if (typeof value === 'string') return /^\S+$/.test(value) ? value : `“${value}”`;
  if (isList(value)) return value.length === 0 ? 'none' : value.map(formatValue).join(', ');
  if (value === true) return 'on';
  return value === false ? 'off' : JSON.stringify(value ?? null);
}

/** `policy.kind` has the label `policy`, since a person chooses the policy there. */
function labelOf(at: readonly string[]): string {
  const label = at.join('.');
  return label === 'policy.kind' ? 'policy' : label;
}
