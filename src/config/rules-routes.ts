/** Channels, brains and the routes between them. */
import { nearest } from './nearest.ts';
import type { ProblemList } from './problems.ts';
import type { DraftDocument } from './schema.ts';

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
  for (const [index, route] of (routes ?? []).entries()) {
    if (leadsNowhere(route?.channel, channels)) {
      const message = 'no channel of this type is configured';
      const remedy = `Configure it, or write one of: ${listed(channels)}.`;
      problems.add('unknown_channel', `routes[${index}].channel`, message, remedy);
    }
    if (leadsNowhere(route?.brain, brains)) {
      const near = nearest(route?.brain ?? '', known(brains));
      const message = 'no brain has this name';
      const remedy = near === null ? `Write one of: ${listed(brains)}.` : `Did you mean ${near}?`;
      problems.add('unknown_brain', `routes[${index}].brain`, message, remedy);
    }
  }
}

/** An end is judged only when every name on the other side could be read. */
function leadsNowhere(end: string | undefined, names: Names): boolean {
  if (end === undefined || names === undefined || names.includes(undefined)) return false;
  return !names.includes(end);
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
  if (used.includes(undefined)) return;
  for (const [index, name] of (names ?? []).entries()) {
    if (name === undefined || used.includes(name) || names?.indexOf(name) !== index) continue;
    const message = `no route names this ${what}, so it is not started`;
    const remedy = 'Add a route for it, or remove it.';
    problems.add(`${what}_without_route`, `${what}s[${index}]`, message, remedy);
  }
}

function findDoubles(
  names: readonly (string | undefined)[],
  report: (name: string, index: number, first: number) => void,
): void {
  for (const [index, name] of names.entries()) {
    if (name === undefined) continue;
    const first = names.indexOf(name);
    if (first < index) report(name, index, first);
  }
}

function known(names: Names): readonly string[] {
  return (names ?? []).filter((name) => name !== undefined);
}

function listed(names: Names): string {
  return [...new Set(known(names))].join(', ');
}
