/** Channels, brains and the routes between them. */
import { listed, namesMax } from './name-list.ts';
import { nearest } from './nearest.ts';
import { quote } from './quote.ts';
import type { ProblemList } from './problems.ts';
import type { DraftDocument } from './schema.ts';

/** At most so many of all names are compared with a name that leads nowhere. */
const nearMax = 100;

/** Adds what is wrong with names that stand twice, lead nowhere, or that nothing leads to. */
export function checkRoutes(document: DraftDocument, problems: ProblemList): void {
  const channels = document.channels?.map((channel) => channel?.type);
  const brains = document.brains?.map((brain) => brain?.name);
  findDoubles(channels ?? [], (name, index, first) => {
    const message = `${name} is configured already, by channels[${first}]`;
    const remedy = 'Keep one channel of each type.';
    problems.add('duplicate_channel', `channels[${index}].type`, message, remedy);
  });
  findDoubles(brains ?? [], (_name, index, first) => {
    const message = `brains[${first}] has this name already`;
    problems.add('duplicate_brain', `brains[${index}].name`, message, 'Give it another name.');
  });
  checkEnds(document, channels, brains, problems);
  checkDoubleRoutes(document, problems);
  const routes = document.routes;
  if (routes === undefined || routes.some((route) => route === undefined)) return;
  warnUnused(
    channels,
    routes.map((route) => route?.channel),
    'channel',
    problems,
  );
  warnUnused(
    brains,
    routes.map((route) => route?.brain),
    'brain',
    problems,
  );
}

type Names = readonly (string | undefined)[] | undefined;

function checkEnds(
  { routes }: DraftDocument,
  channels: Names,
  brains: Names,
  problems: ProblemList,
): void {
  const [channelsKnown, brainsKnown] = [wholly(channels), wholly(brains)];
  for (const [index, route] of (routes ?? []).entries()) {
    if (leadsNowhere(route?.channel, channelsKnown)) {
      const message = `no channel ${quote(route?.channel ?? '') ?? 'of this type'} is configured`;
      const remedy = (): string => `Configure it, or write one of: ${listOf(channelsKnown)}.`;
      problems.add('unknown_channel', `routes[${index}].channel`, message, remedy);
    }
    if (leadsNowhere(route?.brain, brainsKnown)) {
      const message = `no brain has the name ${quote(route?.brain ?? '') ?? 'that stands here'}`;
      const remedy = (): string => {
        const near = nearest(route?.brain ?? '', namesOf(brainsKnown, nearMax));
        return near === null ? `Write one of: ${listOf(brainsKnown)}.` : `Did you mean ${near}?`;
      };
      problems.add('unknown_brain', `routes[${index}].brain`, message, remedy);
    }
  }
}

/** All names of one side, or null when one could not be read: then the other side is not judged. */
function wholly(names: Names): ReadonlySet<string> | null {
  const known = new Set(names);
  return names === undefined || known.has(undefined) ? null : (known as ReadonlySet<string>);
}

function leadsNowhere(end: string | undefined, names: ReadonlySet<string> | null): boolean {
  return end !== undefined && names !== null && !names.has(end);
}

function namesOf(names: ReadonlySet<string> | null, most: number): readonly string[] {
  return [...(names ?? [])].slice(0, most);
}

function listOf(names: ReadonlySet<string> | null): string {
  return listed(namesOf(names, namesMax), names?.size ?? 0);
}

function checkDoubleRoutes({ routes }: DraftDocument, problems: ProblemList): void {
  const brainOf = new Map<string, { brain: string; index: number }>();
  for (const [index, route] of (routes ?? []).entries()) {
    const { channel, brain } = route ?? {};
    if (channel === undefined || brain === undefined) continue;
    const first = brainOf.get(channel);
    if (first === undefined) brainOf.set(channel, { brain, index });
    else if (first.brain === brain) {
      const message = `routes[${first.index}] says the same`;
      problems.add('route_repeated', `routes[${index}]`, message, 'Remove one of them.');
    } else {
      const message = `routes[${first.index}] gives this channel to another brain`;
      const remedy = 'Keep one route for each channel.';
      problems.add('routed_twice', `routes[${index}].brain`, message, remedy);
    }
  }
}

function warnUnused(
  names: Names,
  used: readonly (string | undefined)[],
  what: 'channel' | 'brain',
  problems: ProblemList,
): void {
  const passed = new Set(used);
  if (passed.has(undefined)) return;
  for (const [index, name] of (names ?? []).entries()) {
    if (name === undefined || passed.has(name)) continue;
    passed.add(name);
    const message = `no route names this ${what}, so it is not started`;
    const remedy = 'Add a route for it, or remove it.';
    problems.add(`${what}_without_route`, `${what}s[${index}]`, message, remedy);
  }
}

function findDoubles(
  names: readonly (string | undefined)[],
  report: (name: string, index: number, first: number) => void,
): void {
  const firsts = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    if (name === undefined) continue;
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, index);
    else report(name, index, first);
  }
}
