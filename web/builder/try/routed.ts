/** Which route of a draft a message would take, and why. */
import { kindOf, type ChannelType, findKind } from '../../../src/channels/registry.ts';
import { schema } from '../../../src/config/schema.ts';
import {
  explainRoutes,
  type RouteExplanation,
  type GivenMessage,
} from '../../../src/domain/explain-route.ts';
import {
  leadingCommand,
  routeCommandOf,
  type RouteCondition,
} from '../../../src/domain/routing.ts';
import type { JsonObject } from '../../../src/config/locate.ts';
import { isObject } from '../../../src/lib/json.ts';
import { listedChannels, routesOfChannel } from '../document/channels.ts';
import { isList, valueAt } from '../document/value.ts';

/** `isBare`: the text is the command of the route alone. */
type Routed = RouteExplanation & { readonly isBare: boolean };

/**
 * @param channel a registered name
 * @returns null: the draft has no such channel, or no route for it
 */
export function routedIn(
  document: JsonObject,
  channel: string,
  given: GivenMessage,
): Routed | null {
  const listed = listedChannels(document).find(({ name }) => name === channel);
  const routes = routesOfChannel(document, channel);
  if (listed === undefined || findKind(listed.type) === undefined || routes.length === 0) {
    return null;
  }
  const { placeOf } = kindOf(listed.type as ChannelType);
  const readable = routes.map((route) => ({ ...route, when: withoutEmpty(route.when) }));
  const triggers = triggersIn(document);
  const explanation = explainRoutes(readable, given, { placeOf, triggers });
  const command = routeCommandOf(explanation.taken ?? undefined);
  const isBare = command !== null && leadingCommand(given.text ?? '', triggers)?.rest === '';
  return { ...explanation, isBare };
}

/** A list without an entry asks for nothing yet; the form says that one is missing. */
function withoutEmpty(when: RouteCondition | null): RouteCondition | null {
  if (when === null) return null;
  const full = (entries: readonly string[] | null) => (entries?.length === 0 ? null : entries);
  const { senders, chats, topics, commands } = when;
  return {
    senders: full(senders),
    chats: full(chats),
    topics: full(topics),
    commands: full(commands),
  };
}

function triggersIn({ session }: JsonObject): readonly string[] {
  if (!isObject(session)) return [];
  const triggers = valueAt(session, ['triggers']);
  if (!isList(triggers)) return schema.fields.session.fields.triggers.default;
  return triggers.filter((one) => typeof one === 'string');
}
