/** What the running service does when a changed configuration is applied. */
import type { JsonObject } from '../locate.ts';
import { schema } from '../schema.ts';
import { isEqual, isObject } from '../json-value.ts';
import { canonical, isAbsent, type Value } from './entries.ts';
import { restartFields, routedChannels } from './lifetime.ts';

/** @returns sentences, beginning with a small letter; none where nothing of it is disturbed */
export function consequencesOf(before: Value, after: Value): readonly string[] {
  const [from, to] = [routedChannels(before), routedChannels(after)];
  const refused = new Set(restartFields(before, after));
  const found: string[] = [];
  for (const [type, { value: channel }] of from) {
    const next = to.get(type);
    if (next === undefined) found.push(endOf(type));
    else if (type === 'webhook') {
      const stays = refused.has(`channels[${next.index}].webhook.bind`);
      if (!stays) found.push(...webhookOf(channel, next.value));
    } else if (isAnewFor(channel, next.value)) {
      found.push(`${type} ends its connection and begins anew`);
    }
  }
  for (const [type, { value: channel }] of to) {
    if (from.has(type)) continue;
    found.push(
      type === 'webhook' ? `the webhook listens on ${bindOf(channel)}` : `${type} connects`,
    );
  }
  return found;
}

function endOf(type: string): string {
  const what = type === 'webhook' ? 'the webhook stops listening' : `${type} disconnects`;
  return `${what}; replies of it that are not delivered wait until it is back`;
}

function webhookOf(before: JsonObject, after: JsonObject): readonly string[] {
  const [old, now] = [bindOf(before), bindOf(after)];
  if (old === now) return [];
  return [`the webhook listener restarts: it listens on ${now} in the place of ${old}`];
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
