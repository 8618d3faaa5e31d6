/**
 * Describes the differences between two configurations, for the person who applies the new one:
 * the changes, and what they do to the running service.
 */
import { formatModelName } from '../../domain/model-words.ts';
import { channelName, findKind } from '../../channels/registry.ts';
import type { ObjectField } from '../field.ts';
import type { JsonObject } from '../locate.ts';
import { brain as brainField, schema } from '../schema.ts';
import { channel as channelField } from '../schema-channel.ts';
import { fieldChanges } from './field-changes.ts';
import { isObject } from '../../lib/json.ts';
import { isEqual, isList } from '../json-value.ts';
import { canonical, isAbsent, keyedEntries, type KeyedEntry, type Value } from './entries.ts';
import { restartFields, routedChannels } from './lifetime.ts';
import { routeChanges } from './route-changes.ts';
import type { ChannelKind, Listener } from '../../channels/kind.ts';

/** `note`: the service reads the same as before, so that nothing happens. */
export type Change = {
  readonly kind: 'added' | 'removed' | 'changed' | 'note';
  readonly text: string;
  /** The running service refuses this change. It needs a change of the file and a restart. */
  readonly restart: boolean;
};

/** @param before, after parsed documents, with or without problems */
export function changesOf(before: Value, after: Value): readonly Change[] {
  const [from, to] = [objectOf(before), objectOf(after)];
  const restart = new Set(restartFields(before, after));
  const changes = [
    ...channelChanges(from, to, restart),
    ...brainChanges(from, to),
    ...routeChanges(from['routes'], to['routes']).map(({ kind, text }) => change(kind, text)),
    ...blockChanges(from, to, restart),
    ...otherChanges(from, to),
  ];
  if (changes.length > 0 || isEqual(before, after)) return changes;
  return [note('the order of entries is changed, which means nothing')];
}

const sentencesMax = 100;

/** The changes as sentences, without notes. A long list is cut. */
export function sentencesOf(changes: readonly Change[]): readonly string[] {
  const sentences = changes
    .filter(({ kind }) => kind !== 'note')
    .map(({ text }) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
  const more = sentences.length - sentencesMax;
  return more <= 0 ? sentences : [...sentences.slice(0, sentencesMax), `${more} more changes.`];
}

type Pair = { readonly from: KeyedEntry | null; readonly to: KeyedEntry | null };

/** Pairs the entries of two lists by key: first the entries of the new list, then removed ones. */
function pairsOf(before: Value, after: Value, name: string): readonly Pair[] {
  const removed = new Map(keyedEntries(before, name).map((one) => [one.key, one]));
  const pairs: Pair[] = keyedEntries(after, name).map((to) => {
    const from = removed.get(to.key) ?? null;
    removed.delete(to.key);
    return { from, to };
  });
  return [...pairs, ...[...removed.values()].map((from) => ({ from, to: null }))];
}

function channelChanges(
  before: JsonObject,
  after: JsonObject,
  restart: ReadonlySet<string>,
): readonly Change[] {
  const pairs = pairsOf(before['channels'], after['channels'], 'channels');
  const renamed = renamedEntries(pairs);
  return pairs.flatMap((pair) => {
    const { from, to } = pair;
    const twin = renamed.get(pair);
    if (twin !== undefined && to === null) return [];
    if (twin !== undefined) {
      const text =
        `the channel ${channelName(twin.from!.key)} has the name ${to!.key} now: it is a new ` +
        'channel, without the memory of the old one';
      return [change('changed', text)];
    }
    if (from === null) return [change('added', `the channel ${addedName(to!)} is added`)];
    if (to === null) return [change('removed', `the channel ${channelName(from.key)} is removed`)];
    const changes = fieldChanges(channelField, objectOf(from.value), objectOf(to.value));
    return changes.map(({ at, text, effect }): Change => {
      const needsRestart = restart.has(`channels[${to.index}].${at.join('.')}`);
      // The key is the name, so it can only be written in another way.
      const isWriting = at.join('.') === 'name';
      const kind = effect && !isWriting ? 'changed' : 'note';
      const words = isWriting ? 'name is written otherwise' : text;
      return { kind, text: `channel ${channelName(to.key)}: ${words}`, restart: needsRestart };
    });
  });
}

/** The name with the platform behind it; without a name of its own only the platform. */
function addedName({ key, value }: KeyedEntry): string {
  const type = typeOf(objectOf(value));
  return key === type || type === null ? channelName(key) : `${key} (${channelName(type)})`;
}

/** @returns null: the channel has no type */
function typeOf({ type }: JsonObject): string | null {
  return typeof type === 'string' ? canonical(type) : null;
}

function brainChanges(before: JsonObject, after: JsonObject): readonly Change[] {
  const pairs = pairsOf(before['brains'], after['brains'], 'brains');
  const renamed = renamedEntries(pairs);
  return pairs.flatMap((pair) => {
    const { from, to } = pair;
    const twin = renamed.get(pair);
    if (twin !== undefined) {
      if (to === null) return [];
      const text = `brain ${twin.from!.key} is renamed to ${to.key}`;
      return [change('changed', text), ...changesInBrain(to.key, twin.from!.value, to.value)];
    }
    if (from === null)
      return [change('added', `brain ${to!.key} is added${brainSummary(to!.value)}`)];
    if (to === null) return [change('removed', `brain ${from.key} is removed`)];
    return changesInBrain(to.key, from.value, to.value);
  });
}

/** Finds renamed entries: a new one that differs from a removed one only by its name. */
function renamedEntries(pairs: readonly Pair[]): ReadonlyMap<Pair, Pair> {
  const renamed = new Map<Pair, Pair>();
  const removed = pairs.filter(({ to }) => to === null);
  for (const pair of pairs) {
    if (pair.from !== null || pair.to === null) continue;
    const twin = removed.find((other) => {
      return !renamed.has(other) && areSameButName(other.from!, pair.to!);
    });
    if (twin === undefined) continue;
    renamed.set(pair, twin);
    renamed.set(twin, pair);
  }
  return renamed;
}

function areSameButName(one: KeyedEntry, two: KeyedEntry): boolean {
  const withoutName = ({ value }: KeyedEntry): Value =>
    isObject(value) ? { ...value, name: '' } : value;
  return isEqual(withoutName(one), withoutName(two));
}

function brainSummary(brain: Value): string {
  if (!isObject(brain)) return '';
  const models = keyedEntries(brain['models'], 'models').map(({ key }) => formatModelName(key));
  const kind = typeof brain['sensitivity'] === 'string' ? `${brain['sensitivity']}, ` : '';
  const what = isObject(brain['agent']) ? 'an agent on' : 'asks';
  return models.length === 0 ? '' : `: ${kind}${what} ${models.join(', ')}`;
}

function changesInBrain(name: string, before: Value, after: Value): readonly Change[] {
  const subject = `brain ${name}`;
  const skip = ['name', 'models', '_try'];
  return [
    ...changesWithin(subject, brainField, before, after, skip),
    ...modelChanges(subject, objectOf(before)['models'], objectOf(after)['models']),
    ...caseChanges(subject, objectOf(before)['_try'], objectOf(after)['_try']),
  ];
}

function modelChanges(subject: string, before: Value, after: Value): readonly Change[] {
  const field = brainField.fields.models.items;
  const pairs = pairsOf(before, after, 'models');
  const replaced = replacedModels(pairs);
  const changes = pairs.flatMap((pair) => {
    const { from, to } = pair;
    const twin = replaced.get(pair);
    if (twin !== undefined) {
      if (to === null) return [];
      const [former, latter] = [formatModelName(twin.from!.key), formatModelName(to.key)];
      const text = `${subject}: the model ${former} is replaced by ${latter}`;
      const where = `${subject}, model ${latter}`;
      const others = changesWithin(where, field, twin.from!.value, to.value, ['model_id']);
      return [change('changed', text), ...others];
    }
    if (from === null)
      return [change('added', `the model ${formatModelName(to!.key)} is added to ${subject}`)];
    if (to === null) {
      return [
        change('removed', `the model ${formatModelName(from.key)} is removed from ${subject}`),
      ];
    }
    return changesWithin(
      `${subject}, model ${formatModelName(to.key)}`,
      field,
      from.value,
      to.value,
    );
  });
  const common = pairs.filter(({ from, to }) => from !== null && to !== null);
  const isReordered = common.some(
    ({ from }, at) => at > 0 && from!.index < common[at - 1]!.from!.index,
  );
  if (!isReordered) return changes;
  const order = keyedEntries(after, 'models').map(({ key }) => formatModelName(key));
  return [
    ...changes,
    change('changed', `${subject}: its models are listed as ${order.join(', ')}`),
  ];
}

/** Finds replaced models: one added where another one of the same provider was removed. */
function replacedModels(pairs: readonly Pair[]): ReadonlyMap<Pair, Pair> {
  const providerOf = ({ key }: KeyedEntry): string => key.slice(0, key.indexOf('/'));
  const replaced = new Map<Pair, Pair>();
  for (const added of pairs) {
    const { from, to } = added;
    if (from !== null || to === null) continue;
    const twin = pairs.find((one) => {
      if (one.to !== null || one.from?.index !== to.index) return false;
      return providerOf(one.from) === providerOf(to);
    });
    if (twin === undefined) continue;
    replaced.set(added, twin);
    replaced.set(twin, added);
  }
  return replaced;
}

function caseChanges(subject: string, before: Value, after: Value): readonly Change[] {
  if (isEqual(before, after)) return [];
  const count = (value: Value): number => (isList(value) ? value.length : 0);
  return [note(`${subject}: its test cases are changed (${count(before)} → ${count(after)})`)];
}

const blocks = ['storage', 'session', 'observability', 'admin', 'completions'] as const;

function blockChanges(
  before: JsonObject,
  after: JsonObject,
  restart: ReadonlySet<string>,
): readonly Change[] {
  return blocks.flatMap((name) => {
    const blockField = {
      type: 'object',
      description: '',
      fields: { [name]: schema.fields[name] },
    } as const;
    const changes = fieldChanges(blockField, pick(before, name), pick(after, name));
    return changes.map(({ at, text, effect }): Change => {
      const kind = effect ? verbOf(before[name], after[name]) : 'note';
      return { kind, text: blockText(name, text), restart: restart.has(at.join('.')) };
    });
  });
}

function blockText(name: string, text: string): string {
  return text.startsWith(`${name} is `) ? `the block ${text}` : text;
}

function verbOf(before: Value, after: Value): Change['kind'] {
  if (isAbsent(before)) return 'added';
  return isAbsent(after) ? 'removed' : 'changed';
}

function pick(document: JsonObject, name: string): JsonObject {
  return document[name] === undefined ? {} : { [name]: document[name] };
}

/** Changes of notes and unknown keys at the top of the document. */
function otherChanges(before: JsonObject, after: JsonObject): readonly Change[] {
  const known = Object.keys(schema.fields);
  const none: ObjectField = { type: 'object', description: '', fields: {} };
  return fieldChanges(none, before, after, known).map(({ text, effect }) => {
    return effect ? change('changed', text) : note(text);
  });
}

function changesWithin(
  subject: string,
  field: ObjectField,
  before: Value,
  after: Value,
  skip: readonly string[] = [],
): readonly Change[] {
  const changes = fieldChanges(field, objectOf(before), objectOf(after), skip);
  return changes.map(({ text, effect }) => {
    return effect ? change('changed', `${subject}: ${text}`) : note(`${subject}: ${text}`);
  });
}

function objectOf(value: Value): JsonObject {
  return isObject(value) ? value : {};
}

function change(kind: Change['kind'], text: string): Change {
  return { kind, text, restart: false };
}

function note(text: string): Change {
  return change('note', text);
}

// What the running service does with the new configuration.

/** @returns sentences that begin with a small letter; none if no connection is disturbed */
export function consequencesOf(before: Value, after: Value): readonly string[] {
  const [from, to] = [routedChannels(before), routedChannels(after)];
  const refused = new Set(restartFields(before, after));
  const sentences: string[] = [];
  for (const [name, { value: channel }] of from) {
    const next = to.get(name);
    const kind = kindIn(channel);
    if (next === undefined || kindIn(next.value) !== kind) sentences.push(endSentence(name, kind));
    else {
      const path = `channels[${next.index}]`;
      const stays = refused.has(`${path}.${kind?.listener?.block}.bind`);
      if (!stays) sentences.push(...reconnectSentences(name, kind, channel, next.value));
    }
  }
  for (const [name, { value: channel }] of to) {
    const old = from.get(name);
    const kind = kindIn(channel);
    if (old !== undefined && kindIn(old.value) === kind) continue;
    sentences.push(
      kind?.listener
        ? `${listenerName(name)} listens on ${bindOf(channel, kind.listener)}`
        : `${channelName(name)} connects`,
    );
  }
  return [...sentences, ...apiSentences(before, after, refused.has('completions.bind'))];
}

/** @param stays whether the running service refuses the new address */
function apiSentences(before: Value, after: Value, stays: boolean): readonly string[] {
  const api = { block: 'completions', bind: schema.fields.completions.fields.bind.default };
  const [old, now] = [before, after].map((document) => {
    const whole = objectOf(document);
    return isObject(whole[api.block]) ? bindOf(whole, api) : null;
  });
  if (old === now || stays) return [];
  if (now === null) return ['the completions API stops listening'];
  const more = old === null ? '' : ` in the place of ${old}`;
  return [`the completions API listens on ${now}${more}`];
}

function kindIn(channel: JsonObject): ChannelKind | undefined {
  return findKind(typeOf(channel) ?? '');
}

/** `the webhook`, or `the webhook intake` with a name of its own. */
function listenerName(name: string): string {
  return findKind(name) === undefined ? `the webhook ${name}` : `the ${channelName(name)}`;
}

function endSentence(name: string, kind: ChannelKind | undefined): string {
  const what = kind?.listener
    ? `${listenerName(name)} stops listening`
    : `${channelName(name)} disconnects`;
  return `${what}; replies of it that are not delivered wait until it is back`;
}

function reconnectSentences(
  name: string,
  kind: ChannelKind | undefined,
  before: JsonObject,
  after: JsonObject,
): readonly string[] {
  if (!kind?.listener) {
    return needsNewConnection(kind, before, after)
      ? [`${channelName(name)} ends its connection and begins anew`]
      : [];
  }
  const [old, now] = [bindOf(before, kind.listener), bindOf(after, kind.listener)];
  if (old === now) return [];
  return [`${listenerName(name)} listener restarts: it listens on ${now} in the place of ${old}`];
}

function bindOf(channel: JsonObject, listener: Pick<Listener, 'block' | 'bind'>): string {
  const block = channel[listener.block];
  const bind = isObject(block) ? block['bind'] : undefined;
  return typeof bind === 'string' && bind !== '' ? bind : listener.bind;
}

/** The next running configuration keeps a connection if its token and settings are the same. */
function needsNewConnection(
  kind: ChannelKind | undefined,
  before: JsonObject,
  after: JsonObject,
): boolean {
  const settings = (channel: JsonObject): Value => {
    const { token_env: token, base_url: base, access } = channel;
    const { streaming, gather_ms: gatherMs, edits } = channel;
    const groups = isObject(access) && !isAbsent(access['groups']) ? access['groups'] : 'mention';
    const own = Object.keys(kind?.fields ?? {}).map((key) => channel[key] ?? null);
    const groupSetting = kind?.groupsAtConnect === true ? groups! : null;
    const chatSettings = [streaming ?? true, gatherMs ?? 0, edits ?? false];
    return [token ?? null, isAbsent(base) ? null : base!, groupSetting, ...chatSettings, ...own];
  };
  return !isEqual(settings(before), settings(after));
}
