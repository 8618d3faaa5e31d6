/**
 * What differs between two configuration documents, in sentences for a person, with the fields
 * named as the file names them. Pure: a browser runs it too.
 */
import { channelSynonyms } from './schema-channel.ts';

type Fields = Readonly<Record<string, unknown>>;

const sentencesMax = 100;
const shownMax = 60;

/**
 * @param before and after are what the texts of two valid configurations hold
 * @returns one sentence a change; what stands in another order or spelling is none
 */
export function changesBetween(before: unknown, after: unknown): readonly string[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const said = [
    ...inList('Channel', old['channels'], now['channels'], channelName),
    ...inList('Brain', old['brains'], now['brains'], brainName),
    ...inList('Route', old['routes'], now['routes'], routeName),
    ...inFields('', '', without(old, listed), without(now, listed)),
  ];
  const more = said.length - sentencesMax;
  return more <= 0 ? said : [...said.slice(0, sentencesMax), `${more} more changes.`];
}

const listed = new Set(['channels', 'brains', 'routes']);

function channelName({ type }: Fields): string {
  const synonyms: Readonly<Record<string, string>> = channelSynonyms;
  return synonyms[String(type)] ?? String(type);
}

function brainName({ name }: Fields): string {
  return String(name);
}

function routeName({ channel, brain }: Fields): string {
  return `${channelName({ type: channel })} → ${String(brain)}`;
}

function modelName({ provider, model_id: model }: Fields): string {
  return `${String(provider)}/${String(model)}`;
}

type Named = (item: Fields) => string;

/** Items that have a name: added, removed, or changed inside. Of several with one name the last. */
function inList(what: string, before: unknown, after: unknown, name: Named): string[] {
  const [old, now] = [before, after].map((list) => byName(list, name)) as [Items, Items];
  const said: string[] = [];
  for (const [key, item] of now) {
    const was = old.get(key);
    const label = `${what} ${key}`;
    if (was === undefined) said.push(`${label} is added.`);
    else said.push(...inFields(`${label}: `, '', was, item));
  }
  for (const key of old.keys()) if (!now.has(key)) said.push(`${what} ${key} is removed.`);
  return said;
}

type Items = ReadonlyMap<string, Fields>;

function byName(list: unknown, name: Named): Items {
  const items = Array.isArray(list) ? list.map(fieldsOf) : [];
  return new Map(items.map((item) => [name(item), item]));
}

function inFields(label: string, at: string, before: Fields, after: Fields): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    if (name.startsWith('_') || name === '$schema') return [];
    const path = at === '' ? name : `${at}.${name}`;
    return inValue(label, path, given(before[name]), given(after[name]));
  });
}

function inValue(label: string, path: string, before: unknown, after: unknown): string[] {
  if (path === 'models') return inModels(label, before, after);
  if (isFields(before) && isFields(after)) return inFields(label, path, before, after);
  if (written(before) === written(after)) return [];
  if (before === undefined) return [`${label}${path} is set to ${shown(after)}.`];
  if (after === undefined) return [`${label}${path} is removed; it was ${shown(before)}.`];
  return [`${label}${path}: ${shown(before)} → ${shown(after)}.`];
}

/** Their order counts: it is the one in which they are asked, or ranked. */
function inModels(label: string, before: unknown, after: unknown): string[] {
  const said = inList(`${label}model`, before, after, modelName);
  const names = [before, after].map((list) => [...byName(list, modelName).keys()]);
  const [old = [], now = []] = names;
  const kept = now.filter((name) => old.includes(name));
  const moved = old.filter((name) => now.includes(name)).some((name, at) => name !== kept[at]);
  return moved ? [...said, `${label}the order of the models is ${now.join(', ')}.`] : said;
}

function without(fields: Fields, names: ReadonlySet<string>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
}

/** An empty text and null stand for the default: they give nothing. */
function given(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** Equal values are one text, in whatever order an object has its fields. */
function written(value: unknown): string {
  return (
    JSON.stringify(value, (_name, part: unknown) =>
      isFields(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    ) ?? ''
  );
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= shownMax ? text : `${text.slice(0, shownMax).toWellFormed()}…`;
}
