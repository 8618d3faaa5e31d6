/**
 * Which route a message takes: the first route of its channel whose conditions all hold. svc
 * decides it when it accepts the message, and keeps the decision with the message. Pure.
 */

/**
 * The conditions of a route: all given keys must hold, and within a key one entry is enough.
 * Each is a text as the configuration has it; null: the route does not ask for it.
 */
export type RouteCondition = {
  readonly senders: readonly string[] | null;
  readonly chats: readonly string[] | null;
  readonly topics: readonly string[] | null;
  /** With their slash. */
  readonly commands: readonly string[] | null;
};

/** What a condition looks at. */
export type RouteFacts = {
  readonly sender: string;
  /** The id of the chat first, then its other ids, such as the one before it was a supergroup. */
  readonly chats: readonly string[];
  /** null: the message is in no topic or thread. */
  readonly topic: string | null;
  /** The command at the beginning of the text, with its slash; null: there is none. */
  readonly command: string | null;
};

export const routeKeys = ['sender', 'chat', 'topic', 'command'] as const;
export type RouteKey = (typeof routeKeys)[number];

/**
 * A condition that held, with the entry that the message fits. `value` null: ids are for the
 * operator, and a reader sees only that the condition held.
 */
export type RouteMatch = { readonly key: RouteKey; readonly value: string | null };

/**
 * The decision for one message, as it is kept with the message. `number` counts the routes of the
 * configuration from 1; 0: the message continues a turn, whose brain answers it. `matched` is empty
 * for the route that takes every other message.
 */
export type RouteTaken = {
  readonly number: number;
  readonly brain: string;
  readonly matched: readonly RouteMatch[];
};

/** null: the route takes every message. */
type Conditional = { readonly when: RouteCondition | null };

/**
 * @param routes of one channel, in the order of the configuration
 * @param factsOf called once, if a route has conditions
 * @returns null: no route takes the message, which a valid configuration makes impossible
 */
export function chooseRoute<Route extends Conditional>(
  routes: readonly Route[],
  factsOf: () => RouteFacts,
): { readonly route: Route; readonly matched: readonly RouteMatch[] } | null {
  let facts: RouteFacts | null = null;
  for (const route of routes) {
    if (route.when === null) return { route, matched: [] };
    const matched = matchesOf(route.when, (facts ??= factsOf()));
    if (matched !== null) return { route, matched };
  }
  return null;
}

/** One condition of a route, which holds if one of the entries does. */
export type Condition = { readonly key: RouteKey; readonly wanted: readonly string[] };

/** The conditions that a route has, in the order in which people are told of them. */
export function conditionsOf(when: RouteCondition): readonly Condition[] {
  const lists = [when.senders, when.chats, when.topics, when.commands];
  return routeKeys.flatMap((key, at) => {
    const wanted = lists[at] ?? null;
    return wanted === null ? [] : [{ key, wanted }];
  });
}

/** @returns null: one of the conditions does not hold */
export function matchesOf(when: RouteCondition, facts: RouteFacts): readonly RouteMatch[] | null {
  const { sender, chats, topic, command } = facts;
  const found = { sender: [sender], chat: chats, topic: [topic], command: [command] };
  const matched: RouteMatch[] = [];
  for (const { key, wanted } of conditionsOf(when)) {
    const value = found[key].find((one) => one !== null && wanted.includes(one));
    if (value == null) return null;
    matched.push({ key, value });
  }
  return matched;
}

/** `route 3: chat -100123, command /code`, or `route 4: every other message`. */
export function describeRoute({ number, matched }: Omit<RouteTaken, 'brain'>): string {
  const why = matched
    .map(({ key, value }) => (value === null ? key : `${key} ${value}`))
    .join(', ');
  return `route ${number}: ${why === '' ? 'every other message' : why}`;
}

/** The command of the message's route, with its slash; null: the route asks for none. */
export function routeCommandOf(route: Pick<RouteTaken, 'matched'> | undefined): string | null {
  return route?.matched.find(({ key }) => key === 'command')?.value ?? null;
}

/** A command of a route, as the configuration has it. */
export const routeCommandShape = /^\/[a-z0-9_]{1,32}$/;

/**
 * The command that begins the text, and the text behind it. A command may name the bot:
 * `/code@helper_bot`. Behind a trigger of a session the next token counts.
 * @returns null: the text begins with no command
 */
export function leadingCommand(
  text: string,
  triggers: readonly string[],
): { readonly command: string; readonly rest: string } | null {
  const { word, rest } = firstToken(text);
  if (triggers.includes(word)) {
    const next = firstToken(rest);
    return commandOf(next.word, next.rest);
  }
  return commandOf(word, rest);
}

function commandOf(word: string, rest: string) {
  const command = word.split('@', 1)[0]!;
  return routeCommandShape.test(command) ? { command, rest } : null;
}

function firstToken(text: string): { readonly word: string; readonly rest: string } {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*([^]*)$/.exec(text) ?? [];
  return { word, rest };
}
