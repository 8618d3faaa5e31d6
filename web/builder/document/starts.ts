/** Initial values of new parts of a configuration: the required fields, and likely choices. */
import type { ChannelKind } from '../../../src/channels/kind.ts';
import { channelTypes, kindOf, type ChannelType } from '../../../src/channels/registry.ts';
import type { Field } from '../../../src/config/field.ts';
import type { Json, JsonObject } from '../../../src/config/locate.ts';

import {
  listedChannels,
  listedRoutes,
  placeForRoute,
  routesOfChannel,
  conditionIn,
  routedNameIn,
} from './channels.ts';
import { fieldAt } from './fields.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, valueAt, wordOf } from './value.ts';

/**
 * A new value for a place: an optional block, or an entry of a list.
 * @param path of the block; for an entry, with its index in the list
 */
export function startOf(path: Path, document: JsonObject): Json {
  const last = path.at(-1);
  const kind = String(typeof last === 'number' ? path.at(-2) : last);
  const make = Object.hasOwn(starts, kind) ? starts[kind]! : null;
  const field = fieldAt(path);
  const isMade = field?.type === 'object' || (field?.type === 'choice' && typeof last === 'number');
  if (make !== null && isMade) return make(path, document);
  return field === null ? '' : emptyOf(field);
}

const starts: Readonly<Record<string, (path: Path, document: JsonObject) => Json>> = {
  channels: (_, document) => newChannel(document),
  brains: (_, document) => newBrain(document),
  routes: (_, document) => newRoute(document),
  models: () => newModel,
  governance: (path, document) => ({ tool: ungranted(path, document), mode: 'allow' }),
  policy: () => ({ kind: 'priority' }),
  agent: () => ({ tools: ['time'] }),
  tools: () => 'time',
  mcp: () => ({ name: '', url: '' }),
  admin: () => ({ token_env: 'ADMIN_TOKEN' }),
  completions: () => ({ token_env: 'COMPLETIONS_TOKEN' }),
};

/**
 * A channel of a type, with its required fields. The first of a type has no name. Another one has a
 * name, a variable and a path of its own.
 */
export function channelOf(type: ChannelType, document: JsonObject): JsonObject {
  const { mode, token, requires, fields, listener }: ChannelKind = kindOf(type);
  const own = Object.fromEntries(requires.map((key) => [key, emptyOf(fields[key]!)] as const));
  const how = mode === null ? {} : { mode };
  if (!channelsOf(document).includes(type)) {
    return { type, ...how, token_env: token.variable, ...own };
  }
  const name = freeChannelName(type, document);
  const variable = freeVariable(type, document);
  const block = listener === null ? null : own[listener.block];
  const reach =
    listener === null || !isObject(block)
      ? {}
      : { [listener.block]: { ...block, path: `${listener.path}/${name}` } };
  return { type, name, ...how, token_env: variable, ...own, ...reach };
}

/** A variable for the token of another channel, which no channel names yet. */
export function freeVariable(type: ChannelType, document: JsonObject): string {
  const taken = namesIn(document['channels'], (one) => wordOf(one['token_env']));
  return freeName(kindOf(type).token.variable, taken, '_');
}

/** A name for another channel of a type, such as `webhook-2`. */
export function freeChannelName(type: ChannelType, document: JsonObject): string {
  const kind: ChannelKind = kindOf(type);
  const wanted = kind.synonyms[0] ?? type;
  return freeName(wanted, [wanted, ...channelsOf(document)]);
}

/** Registered names of the channels that a configuration has. */
export function channelsOf(document: JsonObject): readonly string[] {
  return listedChannels(document).flatMap(({ name }) => (name === '' ? [] : [name]));
}

export function brainsOf(document: JsonObject): readonly string[] {
  return namesIn(document['brains'], ({ name }) => (typeof name === 'string' ? name : null));
}

/** Registered names of the channels that have a route. */
export function routedOf(document: JsonObject): readonly string[] {
  return listedRoutes(document).map(({ channel }) => channel);
}

/** The brains that API clients can use. */
export function offeredOf(document: JsonObject): readonly string[] {
  const { completions } = document;
  if (!isObject(completions)) return [];
  const chosen = completions['brains'];
  return isList(chosen) ? chosen.filter((one) => typeof one === 'string') : brainsOf(document);
}

/** Types that need no account on a platform come first. */
const easiest = channelTypes.toSorted((one, two) => {
  return Number(kindOf(one).isMessenger) - Number(kindOf(two).isMessenger);
});

function newChannel(document: JsonObject): Json {
  const taken = new Set(listedChannels(document).map(({ type }) => type));
  return channelOf(easiest.find((type) => !taken.has(type)) ?? easiest[0]!, document);
}

function newBrain(document: JsonObject): Json {
  const policy = { kind: 'priority' };
  const name = freeName('brain', brainsOf(document));
  return { name, sensitivity: 'private', policy, models: [newModel] };
}

const newModel: JsonObject = { provider: 'local_runtime', model_id: '', locality: 'local' };

function newRoute(document: JsonObject): Json {
  const channels = channelsOf(document);
  const routed = routedOf(document);
  const channel = channels.find((name) => !routed.includes(name)) ?? channels[0] ?? easiest[0]!;
  return routeFor(channel, document);
}

/** Another route of a channel has conditions if one of it already takes every other message. */
export function routeFor(channel: string, document: JsonObject): JsonObject {
  const hasLast = routesOfChannel(document, channel).some(({ when }) => when === null);
  const brain = brainsOf(document)[0] ?? '';
  return { channel, brain, ...(hasLast ? { when: { senders: [] } } : {}) };
}

/** The index at which a new entry of a list belongs. */
export function placeOfNew(list: Path, entry: Json, document: JsonObject): number {
  const entries = valueAt(document, list);
  const end = isList(entries) ? entries.length : 0;
  const isConditional = list[0] === 'routes' && conditionIn(entry) !== null;
  return isConditional ? placeForRoute(document, routedNameIn(entry)) : end;
}

/** The wanted name, such as `brain`, or `brain-2` where that name is taken. */
export function freeName(wanted: string, taken: readonly string[], before = '-'): string {
  let name = wanted;
  for (let n = 2; taken.includes(name); n++) name = `${wanted}${before}${n}`;
  return name;
}

/** The first tool of the agent that no grant names. */
function ungranted(path: Path, document: JsonObject): Json {
  const agent = valueAt(document, path.slice(0, -2));
  const tools = valueAt(agent, ['tools']);
  const granted = namesIn(valueAt(agent, ['governance']), ({ tool }) => wordOf(tool));
  const listed = isList(tools) ? tools.filter((tool) => typeof tool === 'string') : [];
  return listed.find((tool) => !granted.includes(tool)) ?? listed[0] ?? '';
}

function emptyOf(field: Field): Json {
  switch (field.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(field.fields)
          .filter(([, inner]) => inner.required === true && inner.type !== 'choice')
          .map(([key, inner]) => [key, emptyOf(inner)]),
      );
    case 'list':
      return [];
    case 'map':
      return {};
    case 'decimal':
    case 'integer':
      return field.default ?? field.minimum;
    case 'boolean':
      return field.default ?? false;
    case 'choice':
    case 'text':
      return '';
    default:
      return field satisfies never;
  }
}

function namesIn(
  list: Json | undefined,
  nameOf: (entry: JsonObject) => string | null,
): readonly string[] {
  if (!isList(list)) return [];
  return list
    .map((entry) => (isObject(entry) ? nameOf(entry) : null))
    .filter((name) => name !== null);
}
