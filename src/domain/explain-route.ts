/**
 * Explains to a person which route a message takes, and why. The facts may be incomplete: a person
 * tells some of them, for `svc routes`, or in the builder. Pure.
 */
import {
  conditionsOf,
  leadingCommand,
  type Condition,
  type RouteCondition,
  type RouteKey,
  type RouteTaken,
} from './routing.ts';

/** A route of one channel. */
export type ExplainedRoute = Pick<RouteTaken, 'number' | 'brain'> & {
  readonly when: RouteCondition | null;
};

/** What a person tells about a message. null: the person does not tell. */
export type GivenMessage = {
  readonly sender: string | null;
  readonly chat: string | null;
  readonly topic: string | null;
  readonly text: string | null;
};

/** What the explanation has to know of the channel. */
export type ChannelOfMessage = {
  /** `placeOf` of the channel's kind. */
  readonly placeOf: (conversation: string) => {
    readonly chat: string;
    readonly topic: string | null;
  };
  /** The triggers of sessions; empty: there are none. */
  readonly triggers: readonly string[];
};

export type ExplainedVerdict = {
  readonly number: number;
  readonly brain: string;
  /** `unknown`: the route would come first, if a fact that is not given fits. */
  readonly verdict: 'taken' | 'not_taken' | 'unknown' | 'not_reached';
  /** For people: part of a sentence, without a full stop. */
  readonly why: string;
  /** What the verdict `unknown` depends on; else empty. */
  readonly missing: readonly RouteKey[];
};

export type RouteExplanation = {
  /** The first route that surely fits; null: the last route has conditions, too. */
  readonly taken: RouteTaken | null;
  /** One for each route, in order. */
  readonly routes: readonly ExplainedVerdict[];
};

/**
 * Explains the decision of `chooseRoute`. A route that needs a fact which is not given is not
 * taken; its verdict is `unknown`.
 * @param routes of one channel, in the order of the configuration
 */
export function explainRoutes(
  routes: readonly ExplainedRoute[],
  given: GivenMessage,
  channel: ChannelOfMessage,
): RouteExplanation {
  const facts = factsOf(given, channel);
  let taken: RouteTaken | null = null;
  const verdicts = routes.map(({ number, brain, when }): ExplainedVerdict => {
    const route = { number, brain, missing: [] };
    if (taken !== null) {
      const why = `route ${taken.number} takes the message before`;
      return { ...route, verdict: 'not_reached', why };
    }
    const conditions = when === null ? [] : conditionsOf(when);
    const failed = conditions.filter((one) => valueOf(one, facts) === null);
    if (failed.length > 0) {
      return { ...route, verdict: 'not_taken', why: sentenceOf(failed, describeUnmet) };
    }
    const unknown = conditions.filter((one) => valueOf(one, facts) === undefined);
    if (unknown.length > 0) {
      const missing = unknown.map(({ key }) => key);
      const nothing = missing.map((key) => (key === 'command' ? 'text' : key)).join(' and no ');
      const needs = sentenceOf(unknown, describeWanted);
      const why = `no ${nothing} is given; the route is taken if ${needs}`;
      return { ...route, verdict: 'unknown', why, missing };
    }
    const matched = conditions.map((one) => ({ key: one.key, value: valueOf(one, facts)! }));
    taken = { number, brain, matched };
    const held = matched.map(({ key, value }) => ({ key, wanted: [value] }));
    const why = when === null ? 'it takes every other message' : sentenceOf(held, describeWanted);
    return { ...route, verdict: 'taken', why };
  });
  return { taken, routes: verdicts };
}

/** `the sender is 42 or 43, and the text begins with /code`; null: `every other message`. */
export function describeCondition(when: RouteCondition | null): string {
  return when === null ? 'every other message' : sentenceOf(conditionsOf(when), describeWanted);
}

/** `values`: what is known; null is a message without a topic or a command. */
type KnownFact = { readonly values: readonly (string | null)[]; readonly isComplete: boolean };
type KnownFacts = Readonly<Record<RouteKey, KnownFact>>;

function factsOf(
  { sender, chat, topic, text }: GivenMessage,
  { placeOf, triggers }: ChannelOfMessage,
): KnownFacts {
  const place = chat === null ? null : placeOf(chat);
  // Where a thread is a chat of its own, its channel is another id of that chat.
  const isChat = topic !== null && placeOf(topic).topic === topic;
  const chats = [...(isChat ? [topic] : []), ...(place === null ? [] : [place.chat])];
  const topics = [topic ?? place?.topic ?? null].filter((one) => one !== null);
  const command = text === null ? null : (leadingCommand(text, triggers)?.command ?? null);
  return {
    sender: { values: sender === null ? [] : [sender], isComplete: sender !== null },
    chat: { values: chats, isComplete: chat !== null },
    topic: { values: topics, isComplete: topics.length > 0 },
    command: { values: [command], isComplete: text !== null },
  };
}

/** @returns null: the condition does not hold; undefined: a fact is not given */
function valueOf({ key, wanted }: Condition, facts: KnownFacts): string | null | undefined {
  const { values, isComplete } = facts[key];
  const value = values.find((one) => one !== null && wanted.includes(one));
  return value ?? (isComplete ? null : undefined);
}

function sentenceOf(all: readonly Condition[], describe: (one: Condition) => string): string {
  return all.map(describe).join(', and ');
}

function describeWanted({ key, wanted }: Condition): string {
  return `${key === 'command' ? 'the text begins with' : `the ${key} is`} ${anyOf(wanted)}`;
}

function describeUnmet({ key, wanted }: Condition): string {
  const not = key === 'command' ? 'the text does not begin with' : `the ${key} is not`;
  return `${not} ${anyOf(wanted)}`;
}

/** The most entries that a sentence names. */
const namedMax = 6;

function anyOf(entries: readonly string[]): string {
  const more = entries.length - namedMax;
  const named = more > 1 ? entries.slice(0, namedMax) : entries;
  const last = more > 1 ? `one of ${more} more` : named.at(-1)!;
  const first = more > 1 ? named : named.slice(0, -1);
  return first.length === 0 ? last : `${first.join(', ')} or ${last}`;
}
