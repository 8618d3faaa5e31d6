/** What the running service does when a changed configuration is applied. */
import type { ChannelKind, Listener } from '../../channels/kind.ts';
import { findKind, channelName } from '../../channels/registry.ts';
import type { JsonObject } from '../locate.ts';
import { isEqual, isObject } from '../json-value.ts';
import { isAbsent, type Value } from './entries.ts';
import { restartFields, routedChannels } from './lifetime.ts';

/** @returns sentences, beginning with a small letter; none where nothing is disturbed */
export function consequencesOf(before: Value, after: Value): readonly string[] {
  const [from, to] = [routedChannels(before), routedChannels(after)];
  const refused = new Set(restartFields(before, after));
  const found: string[] = [];
  for (const [type, { value: channel }] of from) {
    const next = to.get(type);
    if (next === undefined) found.push(endOf(type));
    else {
      const [kind, path] = [findKind(type), `channels[${next.index}]`];
      const stays = refused.has(`${path}.${kind?.listener?.block}.bind`);
      if (!stays) found.push(...changeOf(type, kind, channel, next.value));
    }
  }
  for (const [type, { value: channel }] of to) {
    if (from.has(type)) continue;
    const listener = findKind(type)?.listener;
    found.push(
      listener
        ? `the ${channelName(type)} listens on ${bindOf(channel, listener)}`
        : `${channelName(type)} connects`,
    );
  }
  return found;
}

function endOf(type: string): string {
  const what = findKind(type)?.listener
    ? `the ${channelName(type)} stops listening`
    : `${channelName(type)} disconnects`;
  return `${what}; replies of it that are not delivered wait until it is back`;
}

function changeOf(
  type: string,
  kind: ChannelKind | undefined,
  before: JsonObject,
  after: JsonObject,
): readonly string[] {
  if (!kind?.listener) {
    return isAnewFor(kind, before, after)
      ? [`${channelName(type)} ends its connection and begins anew`]
      : [];
  }
  const [old, now] = [bindOf(before, kind.listener), bindOf(after, kind.listener)];
  if (old === now) return [];
  return [
    `the ${channelName(type)} listener restarts: it listens on ${now} in the place of ${old}`,
  ];
}

function bindOf(channel: JsonObject, listener: Listener): string {
  const block = channel[listener.block];
  const bind = isObject(block) ? block['bind'] : undefined;
  return typeof bind === 'string' && bind !== '' ? bind : listener.bind;
}

/** A connection goes over to the next plan where its token and settings are the same. */
function isAnewFor(kind: ChannelKind | undefined, before: JsonObject, after: JsonObject): boolean {
  const settings = (channel: JsonObject): Value => {
    const { token_env: token, base_url: base, access } = channel;
    const { streaming, gather_ms: gatherMs, edits } = channel;
    const groups = isObject(access) && !isAbsent(access['groups']) ? access['groups'] : 'mention';
    const own = Object.keys(kind?.fields ?? {}).map((key) => channel[key] ?? null);
    const asked = kind?.groupsAtConnect === true ? groups! : null;
    const manners = [streaming ?? true, gatherMs ?? 0, edits ?? false];
    return [token ?? null, isAbsent(base) ? null : base!, asked, ...manners, ...own];
  };
  return !isEqual(settings(before), settings(after));
}
