/**
 * Checks the routes between channels and brains, with their conditions, and the brains that clients
 * of the completions API can use.
 */
import { findKind, type ChannelType } from '../channels/registry.ts';
import { commandWordOf, neverOfRoutes } from '../domain/command-words.ts';
import { completionsChannel } from '../domain/ids.ts';
import { shortList, namesMax, quote } from './quote.ts';
import { nearest } from './nearest.ts';
import { hasConditions } from './parse.ts';
import type { ProblemList } from './problems.ts';
import { nameOfChannel } from './rules-channels.ts';
import type { DraftDocument } from './schema.ts';

/** The most names that svc compares with an unknown name. */
export const comparedNamesMax = 100;
/** What every platform shows of a command's text. */
const descriptionCharactersMax = 100;

type RouteDraft = NonNullable<NonNullable<DraftDocument['routes']>[number]>;
type WhenDraft = NonNullable<RouteDraft['when']>;

/** Adds the problems of unknown names, of conditions, and of names without a route. */
export function checkRoutes(document: DraftDocument, problems: ProblemList): void {
  const channels = document.channels?.map(nameOfChannel);
  const brains = document.brains?.map((brain) => brain?.name);
  checkBrainNames(brains, problems);
  checkTargets(document, channels, brains, problems);
  checkOffered(document, completeNames(brains), problems);
  checkOrder(document, problems);
  const types = new Map(document.channels?.map((one) => [nameOfChannel(one), one?.type]));
  for (const [index, route] of (document.routes ?? []).entries()) {
    if (route === undefined) continue;
    const type = route.channel === undefined ? undefined : types.get(route.channel);
    checkRoute(route, type, `routes[${index}]`, document, problems);
  }
  const { routes } = document;
  if (routes === undefined || routes.includes(undefined)) return;
  const routed = routes.map((route) => route?.channel);
  warnUnused(channels, routed, 'channel', problems);
  const asked = routes.map((route) => route?.brain);
  const used = [...asked, ...offeredBrains(document)];
  const listing = document.completions?.brains ? ', list it in completions.brains' : '';
  warnUnused(brains, used, 'brain', problems, listing);
}

type Names = readonly (string | undefined)[] | undefined;

function checkTargets(
  { routes, channels: drafts }: DraftDocument,
  channels: Names,
  brains: Names,
  problems: ProblemList,
): void {
  const [channelsKnown, brainsKnown] = [completeNames(channels), completeNames(brains)];
  for (const [index, route] of (routes ?? []).entries()) {
    const { channel, brain } = route ?? {};
    if (channel !== undefined && channelsKnown?.has(channel) === false) {
      const message = `no channel ${quote(channel) ?? 'of this name'} is configured`;
      const named = drafts?.filter((one) => one?.type === channel).map(nameOfChannel) ?? [];
      const names = shortList(named.slice(0, namesMax) as string[], named.length);
      const remedy = (): string =>
        names === ''
          ? nearRemedy(channel, [...channelsKnown])
          : `Write the name: ${names}. Or take a new name away again: by it the channel loses ` +
            'its memory.';
      problems.add('unknown_channel', `routes[${index}].channel`, message, remedy);
    }
    checkBrainName(brain, brainsKnown, `routes[${index}].brain`, problems);
  }
}

/** @param known null: a name could not be read, and then no name is unknown */
function checkBrainName(
  brain: string | undefined,
  known: ReadonlySet<string> | null,
  path: string,
  problems: ProblemList,
): void {
  if (brain === undefined || known?.has(brain) !== false) return;
  const message = `no brain has the name ${quote(brain) ?? 'that stands here'}`;
  const remedy = (): string => {
    const { near, list } = nearAndList(brain, [...known]);
    return near === null ? `Write one of: ${list}.` : `Did you mean ${near}?`;
  };
  problems.add('unknown_brain', path, message, remedy);
}

/**
 * The names of the brains that clients of the completions API can use, which need no route. A list
 * that could not be read may have any brain.
 */
export function offeredBrains({ completions, brains }: DraftDocument) {
  if (completions === null) return [];
  return completions?.brains ?? brains?.map((brain) => brain?.name) ?? [];
}

function checkOffered(
  document: DraftDocument,
  known: ReadonlySet<string> | null,
  problems: ProblemList,
): void {
  const { completions, brains } = document;
  if (!completions) return;
  const listed = completions.brains ?? [];
  for (const [index, name] of listed.entries()) {
    const path = `completions.brains[${index}]`;
    checkBrainName(name, known, path, problems);
    if (name === undefined || listed.indexOf(name) === index) continue;
    problems.add('brain_repeated', path, 'this brain is listed already', 'Remove one of them.');
  }
  const offered = new Set(offeredBrains(document));
  const firstOf = (sensitivity: 'private' | 'public'): string | undefined =>
    brains?.find((one) => offered.has(one?.name) && one?.sensitivity === sensitivity)?.name;
  const [privateName, publicName] = [firstOf('private'), firstOf('public')];
  if (privateName === undefined || publicName === undefined) return;
  const message =
    `a client that changes from ${privateName}, which is private, to ${publicName}, which is ` +
    'public, sends its history along';
  const remedy = 'List in brains only private ones or only public ones.';
  problems.add('private_beside_public', 'completions.brains', message, remedy);
}

/** What to do about the name of a channel that is not configured. */
export function nearRemedy(name: string, known: readonly string[]): string {
  if (name === completionsChannel) return 'Remove this route: clients name a brain themselves.';
  const { near, list } = nearAndList(name, known);
  if (list === '') return 'Configure it.';
  return near === null
    ? `Configure it, or write one of: ${list}.`
    : `Did you mean ${near}? Else configure it, or write one of: ${list}.`;
}

function nearAndList(name: string, known: readonly string[]) {
  const near = nearest(name, known.slice(0, comparedNamesMax));
  return { near, list: shortList(known.slice(0, namesMax), known.length) };
}

/** All names; null when one could not be read, and then nothing that names one is checked. */
function completeNames(names: Names): ReadonlySet<string> | null {
  const known = new Set(names);
  return names === undefined || known.has(undefined) ? null : (known as ReadonlySet<string>);
}

function warnUnused(
  names: Names,
  used: readonly (string | undefined)[],
  what: 'channel' | 'brain',
  problems: ProblemList,
  listing = '',
): void {
  const seen = new Set(used);
  if (seen.has(undefined)) return;
  for (const [index, name] of (names ?? []).entries()) {
    if (name === undefined || seen.has(name)) continue;
    seen.add(name);
    const message = `no route names this ${what}, so it is not started`;
    const remedy = `Add a route for it${listing}, or remove it.`;
    problems.add(`${what}_without_route`, `${what}s[${index}]`, message, remedy);
  }
}

function checkBrainNames(names: Names, problems: ProblemList): void {
  const firsts = new Map<string, number>();
  for (const [index, name] of (names ?? []).entries()) {
    if (name === undefined) continue;
    const first = firsts.get(name);
    if (first === undefined) {
      firsts.set(name, index);
      continue;
    }
    const message = `brains[${first}] has this name already`;
    problems.add('duplicate_brain', `brains[${index}].name`, message, 'Give it another name.');
  }
}

// The routes of one channel: svc tries them in order.

type Placed = {
  readonly index: number;
  readonly brain: string | undefined;
  /** The conditions in one form, so that equal ones are equal texts; null: there are none. */
  readonly conditions: string | null;
};

function checkOrder({ routes, brains }: DraftDocument, problems: ProblemList): void {
  const byChannel = Map.groupBy((routes ?? []).entries(), ([, route]) => route?.channel);
  const isWhole = !byChannel.has(undefined);
  for (const [channel, entries] of byChannel) {
    if (channel === undefined) continue;
    const read = entries.filter(([, route]) => route?.when !== undefined);
    const placed = read.map(([index, route]): Placed => {
      const { brain, when = null } = route!;
      return { index, brain, conditions: hasConditions(when) ? conditionsOf(when) : null };
    });
    const firsts: Firsts = new Map();
    for (const one of placed) {
      checkReached(one, firsts, problems);
      if (!firsts.has(one.conditions)) firsts.set(one.conditions, one);
    }
    checkSameCommands(read, firsts, problems);
    const last = firsts.get(null);
    if (last === undefined && isWhole && read.length === entries.length) {
      const message = `all routes of ${channel} have conditions, and other messages have no brain`;
      const remedy = 'Add a route without "when" behind them.';
      problems.add('route_without_rest', `routes[${placed.at(-1)!.index}]`, message, remedy);
    }
    if (last !== undefined) checkPrivate(placed, last, brains, problems);
  }
}

/** By conditions: the first route of a channel that has them. */
type Firsts = Map<string | null, Placed>;

function checkReached(one: Placed, earlier: Firsts, problems: ProblemList): void {
  const { index, brain, conditions } = one;
  if (brain === undefined) return;
  const path = `routes[${index}]`;
  const same = earlier.get(conditions);
  if (same?.brain === brain) {
    const message = `routes[${same.index}] says the same`;
    return problems.add('route_repeated', path, message, 'Remove one of them.');
  }
  if (same !== undefined && conditions === null) {
    if (same.brain === undefined) return;
    const message = `routes[${same.index}] gives this channel to another brain`;
    const remedy = 'Keep one route for each channel, or say in "when" what goes to the other.';
    return problems.add('routed_twice', `${path}.brain`, message, remedy);
  }
  const before = earlier.get(null) ?? same;
  if (before === undefined) return;
  const what = before.conditions === null ? 'every message' : 'the same messages';
  const message = `this route is never reached: routes[${before.index}] takes ${what} before`;
  const remedy =
    before.conditions === null ? 'Move it before that route.' : 'Keep one of them, or change it.';
  problems.add('route_never_reached', path, message, remedy);
}

/** Warns of a command that an earlier route with the same other conditions has. */
function checkSameCommands(
  entries: readonly (readonly [number, RouteDraft | undefined])[],
  firstRoutes: Firsts,
  problems: ProblemList,
): void {
  const firsts = new Map<string, number>();
  for (const [index, route] of entries) {
    const when = route?.when;
    // A route with the same conditions is told of as a whole.
    if (when == null || firstRoutes.get(conditionsOf(when))?.index !== index) continue;
    const others = conditionsOf({ ...when, commands: null });
    for (const [place, command] of (when.commands ?? []).entries()) {
      const first = firsts.get(`${others} ${command}`) ?? index;
      firsts.set(`${others} ${command}`, first);
      if (command === undefined || first === index) continue;
      const message = `${command} never comes here: routes[${first}] takes it before`;
      const remedy = 'Take it out of one of them.';
      const path = `routes[${index}].when.commands[${place}]`;
      problems.add('route_never_reached', path, message, remedy);
    }
  }
}

function conditionsOf({ senders, chats, topics, commands }: WhenDraft): string {
  const lists = [senders, chats, topics, commands];
  const sorted = (list: readonly unknown[]) => Array.from(new Set(list), String).sort();
  return JSON.stringify(lists.map((list) => (list == null ? null : sorted(list))));
}

function checkPrivate(
  placed: readonly Placed[],
  last: Placed,
  brains: DraftDocument['brains'],
  problems: ProblemList,
): void {
  const sensitivityOf = (name: string | undefined) =>
    brains?.find((one) => one !== undefined && one.name === name)?.sensitivity;
  if (sensitivityOf(last.brain) !== 'public') return;
  const isPrivate = placed.find(
    ({ index, brain }) => index < last.index && sensitivityOf(brain) === 'private',
  );
  if (isPrivate === undefined) return;
  const message =
    `a private brain answers only what fits this route: the rest goes to ${last.brain}, which is ` +
    'public';
  const remedy = 'Give the channel a private last route, or the private brain its own channel.';
  problems.add('private_falls_through', `routes[${isPrivate.index}]`, message, remedy);
}

// The conditions of one route.

function checkRoute(
  { when, description }: RouteDraft,
  type: ChannelType | undefined,
  path: string,
  document: DraftDocument,
  problems: ProblemList,
): void {
  if (typeof description === 'string') {
    const characters = Array.from(description).length;
    if (characters > descriptionCharactersMax) {
      const message = `the description has ${characters} characters`;
      const remedy = `Write ${descriptionCharactersMax} at most: platforms show no more.`;
      problems.add('too_long', `${path}.description`, message, remedy);
    }
    if (when === null || when?.commands === null) {
      const message = 'nobody sees this description: the route has no commands';
      const remedy = 'Add "commands" to its "when", or remove it.';
      problems.add('description_unseen', `${path}.description`, message, remedy);
    }
  }
  if (when == null) return;
  checkCommands(when, `${path}.when`, document, problems);
  checkIds(when, type, `${path}.when`, problems);
}

function checkIds(
  when: WhenDraft,
  type: ChannelType | undefined,
  path: string,
  problems: ProblemList,
): void {
  const { isMessenger, topics = null } = (type && findKind(type)) || {};
  for (const key of ['senders', 'chats', 'topics'] as const) {
    for (const [index, id] of (when[key] ?? []).entries()) {
      if (id === undefined) continue;
      const fault = idFault(id, key, isMessenger === true);
      if (fault !== null) problems.add(fault.code, `${path}.${key}[${index}]`, ...fault.words);
    }
  }
  if (type === undefined || when.topics == null) return;
  if (topics === null) {
    const message = `${type} has no topics`;
    problems.addAtKey('not_here', `${path}.topics`, message, 'Remove it.');
  } else if (topics === 'of_each_chat' && when.chats === null) {
    const message = 'every group has topics of these numbers, and this route takes them all';
    const remedy = 'Add "chats" with the id of the group.';
    problems.add('topics_of_each_chat', `${path}.topics`, message, remedy);
  }
}

function idFault(
  id: string,
  key: 'senders' | 'chats' | 'topics',
  isNumber: boolean,
): { code: 'bad_id' | 'bad_user_id'; words: readonly [message: string, remedy: string] } | null {
  if (id === '' || /\s/.test(id)) {
    const message = id === '' ? 'this id is empty' : 'this id has white space';
    return { code: 'bad_id', words: [message, 'Write one id, or remove it.'] };
  }
  if (!isNumber) return null;
  // An anonymous administrator writes with the id of the group, which is negative.
  if (key === 'senders' && !/^-?\d{1,32}$/.test(id)) {
    const message = 'this is no user id: ids are digits only, and names can change';
    return { code: 'bad_user_id', words: [message, 'Write the numeric id, such as "123456789".'] };
  }
  if (/^-?\d{1,32}$/.test(id)) return null;
  const message = 'this is no id: the ids of this platform are numbers';
  const remedy = /^-?\d+:\d+$/.test(id)
    ? 'Write the number before the colon, and the one behind it in "topics".'
    : 'Write the number, such as -1001234567890.';
  return { code: 'bad_id', words: [message, remedy] };
}

/** The list of svc's commands here never grows, and a trigger must keep its meaning. */
function checkCommands(
  { commands }: WhenDraft,
  path: string,
  { session }: DraftDocument,
  problems: ProblemList,
): void {
  for (const [index, command] of (commands ?? []).entries()) {
    if (command === undefined) continue;
    const word = commandWordOf(command);
    const isOurs = word !== null && neverOfRoutes.has(word);
    if (!isOurs && session?.triggers?.includes(command) !== true) continue;
    const what = isOurs ? 'is a command of svc' : 'begins a new session, as session.triggers says';
    const remedy = 'Choose another word.';
    problems.add('bad_command', `${path}.commands[${index}]`, `${command} ${what}`, remedy);
  }
}
