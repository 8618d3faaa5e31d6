/** What the running service does when a changed configuration is applied. */
import { parseListenAddress } from '../address.ts';
import type { JsonObject } from '../locate.ts';
import { schema } from '../schema.ts';
import { isEqual, isObject } from '../json-value.ts';
import { canonical, isAbsent, keyed, type Value } from './entries.ts';

/** @returns sentences, beginning with a small letter; none where nothing of it is disturbed */
export function consequencesOf(before: Value, after: Value): readonly string[] {
  const [from, to] = [channelsOf(before), channelsOf(after)];
  const found: string[] = [];
  for (const [type, channel] of from) {
    const next = to.get(type);
    if (next === undefined) found.push(endOf(type));
    else if (type === 'webhook') found.push(...webhookOf(channel, next));
    else if (isAnewFor(channel, next)) found.push(`${type} ends its connection and begins anew`);
  }
  for (const [type, channel] of to) {
    if (from.has(type)) continue;
    found.push(
      type === 'webhook' ? `the webhook listens on ${bindOf(channel)}` : `${type} connects`,
    );
  }
  return found;
}

/** Only what a route leads to runs. */
function channelsOf(document: Value): ReadonlyMap<string, JsonObject> {
  if (!isObject(document)) return new Map();
  const routed = new Set(
    keyed(document['routes'], 'routes').map(({ value }) => {
      const channel = isObject(value) ? value['channel'] : undefined;
      return typeof channel === 'string' ? canonical(channel) : '';
    }),
  );
  return new Map(
    keyed(document['channels'], 'channels').flatMap(({ key, value }) => {
      return isObject(value) && routed.has(key) ? [[key, value] as const] : [];
    }),
  );
}

function endOf(type: string): string {
  const what = type === 'webhook' ? 'the webhook stops listening' : `${type} disconnects`;
  return `${what}; replies of it that are not delivered wait until it is back`;
}

function webhookOf(before: JsonObject, after: JsonObject): readonly string[] {
  const [old, now] = [bindOf(before), bindOf(after)];
  if (old === now || keepsPort(before, after)) return [];
  return [`the webhook listener restarts: it listens on ${now} in the place of ${old}`];
}

/** Another host on the port that the old listener holds until the new one answers: it cannot be. */
export function keepsPort(before: Value, after: Value): boolean {
  const [old, now] = [before, after].map((channel) => {
    return isObject(channel) ? parseListenAddress(bindOf(channel), true) : null;
  });
  if (!old || !now || now.port === 0 || now.port !== old.port) return false;
  return now.host.toLowerCase() !== old.host.toLowerCase();
}

const defaults = schema.fields.channels.items.fields.webhook.fields;

function bindOf(channel: JsonObject): string {
  const block = channel['webhook'];
  const bind = isObject(block) ? block['bind'] : undefined;
  return typeof bind === 'string' && bind !== '' ? bind : defaults.bind.default;
}

/** A connection goes over to the next plan where its token and settings are the same. */
function isAnewFor(before: JsonObject, after: JsonObject): boolean {
  const settings = ({ token_env: token, base_url: base, type, access }: JsonObject): Value => {
    const groups = isObject(access) && !isAbsent(access['groups']) ? access['groups'] : 'mention';
    const isDiscord = typeof type === 'string' && canonical(type) === 'messenger_b';
    // Discord is told at the start which messages of groups are wanted.
    return [token ?? null, isAbsent(base) ? null : base!, isDiscord ? groups! : null];
  };
  return !isEqual(settings(before), settings(after));
}
