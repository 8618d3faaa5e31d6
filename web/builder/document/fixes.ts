/** Fixes for problems: edits that one press of a button makes. */
import { placeForRoute, registeredNameIn, renameEdits, routedNameIn } from './channels.ts';
import { channelName, channelTypes, type ChannelType } from '../../../src/channels/registry.ts';
import { canonical } from '../../../src/config/changes/entries.ts';
import type { ConfigProblem, ProblemCode } from '../../../src/config/problems.ts';
import type { Field } from '../../../src/config/field.ts';
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { nearest } from '../../../src/config/nearest.ts';
import type { Edit } from '../../../src/config/edit/edit-text.ts';
import { demandsOf, fieldAt, keysAt } from './fields.ts';
import { pathOf, type Path } from '../../../src/config/edit/path.ts';
import {
  brainsOf,
  channelsOf,
  freeChannelName,
  freeName,
  freeVariable,
  routedOf,
  startOf,
} from './starts.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, valueAt, wordOf } from './value.ts';

export type Fix = { readonly label: string; readonly edits: readonly Edit[] };

type Fault = {
  readonly path: Path;
  readonly document: JsonObject;
  readonly value: Json | undefined;
  /** The object or list around the value at fault. */
  readonly outer: Path;
  readonly key: string | number;
};

/** @returns an empty list where only a person can decide */
export function fixesOf(problem: ConfigProblem, document: JsonObject): readonly Fix[] {
  const path = pathOf(problem.path);
  const make = fixers[problem.code as ProblemCode];
  if (make === undefined) return [];
  const outer = path.slice(0, -1);
  const key = path.at(-1) ?? '';
  return make({ path, document, value: valueAt(document, path), outer, key });
}

const fixers: Partial<Record<ProblemCode, (fault: Fault) => readonly Fix[]>> = {
  unknown_key: unknownKey,
  required: missing,
  wrong_type: ofAnotherType,
  unknown_value: unknownValue,
  out_of_range: toBound,
  clamped: toBound,
  too_few: firstEntry,
  not_here: removal,
  bad_path: ({ path, value }) =>
    typeof value === 'string' && !value.startsWith('/') ? setTo(path, `/${value}`) : [],
  duplicate_channel: ({ outer, document }) => [
    ...nameFor(outer, document),
    { label: 'Remove this channel', edits: [remove(outer)] },
  ],
  name_reserved: ({ outer, document }) => nameFor(outer, document),
  token_shared: ({ path, outer, document }) => {
    const type = typeAt(outer, document);
    return type === null ? [] : setTo(path, freeVariable(type, document));
  },
  duplicate_brain: ({ path, value, document }) =>
    setTo(path, freeName(wordOf(value), brainsOf(document))),
  unknown_channel: unknownChannel,
  unknown_brain: ({ path, value, document }) => oneOf(path, wordOf(value), brainsOf(document)),
  routed_twice: ({ outer }) => [{ label: 'Remove this route', edits: [remove(outer)] }],
  route_without_rest: withRest,
  route_never_reached: moveBeforeRest,
  route_repeated: ({ path }) => [{ label: 'Remove this route', edits: [remove(path)] }],
  consensus_alone: ({ path }) => setTo(path, 'priority'),
  consensus_sequential: ({ path }) => setTo(path, 'fanout'),
  cage_missing: cageMissing,
  cage_without_tool: ({ path, outer, key, document }) => [
    addTool(outer, key === 'memory' ? 'memory_note' : String(key), document),
    { label: 'Remove the block', edits: [remove(path)] },
  ],
  grant_unlisted: ({ outer, value, document }) => [
    addTool(outer.slice(0, -2), wordOf(value), document),
    { label: 'Remove the grant', edits: [remove(outer)] },
  ],
  grants_overlap: ({ path }) => [{ label: 'Remove this grant', edits: [remove(path)] }],
  grant_idle: ({ path, key }) => [
    { label: key === 'channels' ? 'On every channel' : 'Take it out here', edits: [remove(path)] },
  ],
  tool_repeated: removal,
  brain_repeated: removal,
  memory_without_storage: addStorage,
  session_without_storage: addStorage,
  pairing_without_storage: addStorage,
  storage_twice: ({ path, outer }) => [
    { label: 'Use the server', edits: [remove([...outer, 'path'])] },
    { label: 'Use the file', edits: [remove(path)] },
  ],
  brain_scope_not_local: ({ path }) => setTo(path, 'conversation'),
  cloud_tag: ({ outer }) => setTo([...outer, 'locality'], 'cloud'),
  order_unknown: removal,
  order_not_asked: ({ path }) => [{ label: 'Remove the order', edits: [remove(path)] }],
  channel_without_route: ({ value, document }) => {
    const [brain] = brainsOf(document);
    const name = registeredNameIn(value);
    return brain === undefined || name === '' ? [] : routeTo(name, brain, document);
  },
  brain_without_route: ({ value, document }) => {
    const routed = routedOf(document);
    const free = channelsOf(document).find((one) => !routed.includes(one));
    const name = valueAt(value, ['name']);
    return free === undefined || typeof name !== 'string' ? [] : routeTo(free, name, document);
  },
  access_open: ({ path, document }) => [
    { label: 'Say who may talk', edits: [set(path, { allow: [] })] },
    ...(document['storage'] ? [{ label: 'Pair by code', edits: [set(path, pairing)] }] : []),
  ],
  not_loopback: ({ path, value }) => {
    const port = /:\d+$/.exec(wordOf(value))?.[0];
    return port === undefined ? [] : setTo(path, `127.0.0.1${port}`);
  },
  admin_unserved: () => setTo(['observability', 'enabled'], true),
  private_without_local: ({ path, value, document }) => {
    const at = isList(value) ? value.length : 0;
    const entry = startOf([...path, at], document);
    return [{ label: 'Add a local model', edits: [insert(path, at, entry)] }];
  },
};

const pairing = { pairing: true };

function unknownKey({ path, outer, key, value, document }: Fault): readonly Fix[] {
  const known = keysAt(outer);
  const near = nearest(String(key), known);
  const around = valueAt(document, outer);
  const isFree = near !== null && isObject(around) && !Object.hasOwn(around, near);
  const other = isFree ? [{ label: `Rename to ${near}`, edits: [rename(path, near)] }] : [];
  const isNote = typeof value === 'string' || isObject(value);
  const note = isNote ? [{ label: 'Keep as a note', edits: [rename(path, `_${key}`)] }] : [];
  return [...other, { label: 'Remove it', edits: [remove(path)] }, ...note];
}

/** Offers no entry whose text nobody can guess: an empty text would be the next problem. */
function firstEntry({ path, document }: Fault): readonly Fix[] {
  const entry = startOf([...path, 0], document);
  if (entry === '') return [];
  const label = typeof entry === 'string' ? `Add ${entry}` : 'Add an entry';
  return [{ label, edits: [insert(path, 0, entry)] }];
}

function missing({ path, outer, key, document }: Fault): readonly Fix[] {
  const around = fieldAt(outer);
  const only =
    around?.type === 'object'
      ? demandsOf(around, valueAt(document, outer)).only.get(String(key))
      : undefined;
  if (only !== undefined) return setTo(path, only);
  const field = fieldAt(path);
  if (field?.type === 'list') {
    const entry = startOf([...path, 0], document);
    return [{ label: `Add ${key}`, edits: [insert(path, 0, entry)] }];
  }
  if (field?.type !== 'object') return [];
  return [{ label: `Add ${key}`, edits: [set(path, startOf(path, document))] }];
}

function unknownValue({ path, outer, key, value, document }: Fault): readonly Fix[] {
  const around = fieldAt(outer);
  if (around?.type === 'object') {
    const only = demandsOf(around, valueAt(document, outer)).only.get(String(key));
    if (only !== undefined) return setTo(path, only);
  }
  const field = fieldAt(path);
  return field?.type === 'choice' ? oneOf(path, wordOf(value), field.names) : [];
}

/** Rewrites the value in the type that the field requires. */
function ofAnotherType({ path, value, document }: Fault): readonly Fix[] {
  const field = fieldAt(path);
  if (value === null || value === '') return removal({ path } as Fault);
  const as = field === null || value === undefined ? undefined : converted(field, value);
  if (as !== undefined) return setTo(path, as);
  if (field?.type !== 'object' && !(field?.type === 'list' && field.items.type === 'object')) {
    return [];
  }
  const first = field.type === 'list' ? [startOf([...path, 0], document)] : startOf(path, document);
  return [{ label: 'Begin it anew', edits: [set(path, first)] }];
}

function converted(field: Field, value: Json): Json | undefined {
  if (field.type === 'integer') {
    const number = Number(value);
    return typeof value !== 'object' && Number.isInteger(number) ? number : undefined;
  }
  if (field.type === 'decimal') {
    const number = Number(value);
    return typeof value === 'string' && Number.isFinite(number) ? number : undefined;
  }
  if (field.type === 'boolean') {
    return value === 'true' ? true : value === 'false' ? false : undefined;
  }
  if (field.type === 'list') return isEntryOf(field.items, value) ? [value] : undefined;
  if (field.type === 'text' && typeof value === 'number') return wordOf(value);
  return undefined;
}

/** Whether a value in the place of a list is a valid entry of that list. */
function isEntryOf(items: Field, value: Json): boolean {
  if (items.type !== 'object') return typeof value === 'string';
  return isObject(value) && Object.keys(value).some((key) => Object.hasOwn(items.fields, key));
}

function toBound({ path, value }: Fault): readonly Fix[] {
  const field = fieldAt(path);
  if (field?.type !== 'integer' && field?.type !== 'decimal') return [];
  if (typeof value !== 'number') return [];
  if (value < field.minimum) return setTo(path, field.minimum);
  return field.maximum === undefined ? [] : setTo(path, field.maximum);
}

function unknownChannel({ path, value, document }: Fault): readonly Fix[] {
  return oneOf(path, wordOf(value), channelsOf(document));
}

function cageMissing({ path, outer, value, document }: Fault): readonly Fix[] {
  const block = value === 'memory_note' ? 'memory' : wordOf(value);
  const at = [...outer.slice(0, -1), block];
  return [
    { label: `Add ${block}`, edits: [set(at, startOf(at, document))] },
    { label: 'Take the tool out', edits: [remove(path)] },
  ];
}

function addTool(agent: Path, tool: string, document: JsonObject): Fix {
  const tools = valueAt(document, [...agent, 'tools']);
  const at = isList(tools) ? tools.length : 0;
  return { label: `List ${tool}`, edits: [insert([...agent, 'tools'], at, tool)] };
}

function addStorage(): readonly Fix[] {
  return [{ label: 'Add storage', edits: [set(['storage'], {})] }];
}

/** A free name; what means this channel alone follows. */
function nameFor(channel: Path, document: JsonObject): readonly Fix[] {
  const type = typeAt(channel, document);
  if (type === null) return [];
  const name = freeChannelName(type, document);
  const before = registeredNameIn(valueAt(document, channel));
  const isAlone = channelsOf(document).filter((one) => one === before).length === 1;
  const following = isAlone ? renameEdits(document, before, name) : [];
  return [{ label: `Name it ${name}`, edits: [set([...channel, 'name'], name), ...following] }];
}

/** null: no channel has this type. */
function typeAt(channel: Path, document: JsonObject): ChannelType | null {
  const type = canonical(wordOf(valueAt(document, [...channel, 'type'])));
  return channelTypes.find((one) => one === type) ?? null;
}

/** The messages that fit none of a channel's routes get a brain. */
function withRest({ path, outer, key, value, document }: Fault): readonly Fix[] {
  const channel = wordOf(valueAt(value, ['channel']));
  const [brain] = brainsOf(document);
  const rest = { label: `Route every other message to ${brain ?? ''}` };
  return [
    ...(brain === undefined
      ? []
      : [{ ...rest, edits: [insert(outer, Number(key) + 1, { channel, brain })] }]),
    { label: 'Remove the conditions of this route', edits: [remove([...path, 'when'])] },
  ];
}

/** Only behind the route that takes every other message does a route have a better place. */
function moveBeforeRest({ outer, key, value, document }: Fault): readonly Fix[] {
  const [from, to] = [Number(key), placeForRoute(document, routedNameIn(value))];
  if (outer.length !== 1 || to >= from) return [];
  return [{ label: 'Move it before that route', edits: [{ kind: 'move', list: outer, from, to }] }];
}

function routeTo(channel: string, brain: string, document: JsonObject): readonly Fix[] {
  const routes = document['routes'];
  const at = isList(routes) ? routes.length : 0;
  const label = `Route ${channelName(channel)} to ${brain}`;
  return [{ label, edits: [insert(['routes'], at, { channel, brain })] }];
}

/** Replaces the name by the most similar known name, or by the only one. */
function oneOf(path: Path, written: string, names: readonly string[]): readonly Fix[] {
  const meant = nearest(written, names) ?? (names.length === 1 ? names[0]! : null);
  return meant === null ? [] : setTo(path, meant);
}

function setTo(path: Path, value: Json): readonly Fix[] {
  return [{ label: `Write ${wordOf(value)}`, edits: [set(path, value)] }];
}

function removal({ path }: Fault): readonly Fix[] {
  return [{ label: 'Remove it', edits: [remove(path)] }];
}

const set = (path: Path, value: Json): Edit => ({ kind: 'set', path, value });
const remove = (path: Path): Edit => ({ kind: 'remove', path });
const rename = (path: Path, key: string): Edit => ({ kind: 'rename', path, key });
const insert = (list: Path, index: number, value: Json): Edit => {
  return { kind: 'insert', list, index, value };
};
