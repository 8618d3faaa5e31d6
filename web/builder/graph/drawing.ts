/**
 * The configuration as three columns: channels, brains, models. Positions follow from the document
 * alone and are never stored.
 */
import { describeProvider } from '../../../src/domain/model-words.ts';
import { findKind, channelName } from '../../../src/channels/registry.ts';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import type { JsonObject } from '../../../src/config/locate.ts';
import { pathOf, startsWith, textOf, type Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, wordOf } from '../document/value.ts';
import {
  listedChannels,
  listedRoutes,
  takenBy,
  type ListedRoute,
  registeredNameIn,
} from '../document/channels.ts';
import { completionsChannel } from '../../../src/domain/ids.ts';
import { schema } from '../../../src/config/schema.ts';
import { offeredOf } from '../document/starts.ts';
import { canonical } from '../../../src/config/changes/entries.ts';
import { entriesOf, modelStates, textAt, type ModelReading } from './reading.ts';

type Common = {
  /** The node's path in the form that problems use; unique. */
  readonly id: string;
  readonly path: Path;
  readonly title: string;
  /** A short description of the node. */
  readonly facts: string;
  /** A warning: nothing leads to the node, or the service never asks it. */
  readonly remark: string | null;
  readonly dim: boolean;
  /** Problems of the node and of its parts without nodes of their own. */
  readonly problems: readonly ConfigProblem[];
  readonly x: number;
  readonly y: number;
  readonly height: number;
};

export type GraphNode =
  | (Common & {
      readonly kind: 'channel';
      /** The registered name. */
      readonly name: string;
      /** The number of its routes. Each has a point of its own where its line begins. */
      readonly routes: number;
      /** `3 · chat -100123` for each route, beside its point; none: no route has conditions. */
      readonly words: readonly string[];
    })
  | (Common & { readonly kind: 'brain' })
  /** The completions API, which offers brains to clients. */
  | (Common & { readonly kind: 'API' })
  | (Common & {
      readonly kind: 'model';
      readonly state: ModelReading['state'];
      /** `provider/model_id` */
      readonly name: string;
    });

/** `path`: of the route, or of the model at the end. */
export type GraphEdge = {
  readonly id: string;
  readonly kind: 'route' | 'offers' | 'asks';
  readonly path: Path;
  readonly source: string;
  readonly target: string;
  readonly dim: boolean;
  readonly label: string;
  /** Whether the rate of its two ends belongs to this line alone. */
  readonly isOnly: boolean;
  /** The place of a route among the routes of its channel, from 0. */
  readonly at: number;
  /** The names of its two ends in a running svc: of a channel its registered name. */
  readonly from: string;
  readonly to: string;
};

export type Drawing = {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
};

export const nodeWidth = 240;
const columnX = { channel: 0, brain: 310, model: 620 } as const;
const gaps = { entry: 16, brain: 40 } as const;

export function drawingOf(document: JsonObject, problems: readonly ConfigProblem[]): Drawing {
  const routes = listedRoutes(document);
  const found = new Finder(document, problems);
  const brains = brainNodes(document, routes, found);
  const channels = channelNodes(document, routes, brains, found);
  const api = apiNodes(document, channels, found);
  const edges = [
    ...routeEdges(routes, channels, brains),
    ...offerEdges(document, brains),
    ...modelEdges(brains),
  ];
  return { nodes: [...channels, ...api, ...brains], edges };
}

/** Finds the one node that a problem belongs to. */
class Finder {
  readonly #byId = new Map<string, ConfigProblem[]>();

  constructor(document: JsonObject, problems: readonly ConfigProblem[]) {
    for (const problem of problems) {
      const id = idFor(document, pathOf(problem.path));
      if (id === null) continue;
      const known = this.#byId.get(id);
      if (known === undefined) this.#byId.set(id, [problem]);
      else known.push(problem);
    }
  }

  of(path: Path): readonly ConfigProblem[] {
    return this.#byId.get(textOf(path)) ?? [];
  }
}

/** A route has no node: its problems belong to its channel. */
function idFor(document: JsonObject, path: Path): string | null {
  const [list, index, inner, at] = path;
  if (list === 'completions') return list;
  if (typeof index !== 'number') return null;
  if (list === 'routes') {
    const name = listedRoutes(document)[index]?.channel;
    const channel = listedChannels(document).find((one) => one.name === name);
    return channel === undefined ? null : textOf(channel.path);
  }
  if (list === 'brains' && inner === 'models' && typeof at === 'number') {
    return textOf(path.slice(0, 4));
  }
  return list === 'channels' || list === 'brains' ? textOf(path.slice(0, 2)) : null;
}

function brainNodes(
  document: JsonObject,
  routes: readonly ListedRoute[],
  found: Finder,
): readonly GraphNode[] {
  const offered = offeredOf(document);
  let y = 0;
  return entriesOf(document, ['brains']).flatMap(({ path, value }) => {
    const name = textAt(value, 'name');
    const routed =
      name !== '' && (offered.includes(name) || routes.some(({ brain }) => brain === name));
    const models = modelNodes(value, path, y, found);
    const problems = found.of(path);
    const isTold = problems.some(({ code }) => code === 'brain_without_route');
    const remark = routed || isTold ? null : 'no route leads here: not started';
    const height = heightOf(remark, problems);
    const end = models.at(-1);
    const below = Math.max(end === undefined ? 0 : end.y + end.height - y, height);
    const brain: GraphNode = {
      kind: 'brain',
      id: textOf(path),
      path,
      title: name === '' ? 'a brain without a name' : name,
      facts: brainFacts(value),
      remark,
      dim: !routed,
      problems,
      x: columnX.brain,
      y: y + (below - height) / 2,
      height,
    };
    y += below + gaps.brain;
    return [brain, ...models];
  });
}

function brainFacts(brain: JsonObject | null): string {
  const policy = isObject(brain?.['policy']) ? textAt(brain['policy'], 'kind') : '';
  const asks = textAt(brain, 'dispatch') === 'sequential' ? 'in turn' : 'all at once';
  const agent = brain?.['agent'];
  const tools = isObject(agent) && isList(agent['tools']) ? agent['tools'].map(wordOf) : [];
  const how = isObject(agent) ? [`agent: ${tools.join(', ')}`] : [asks, policy];
  return [textAt(brain, 'sensitivity'), ...how].filter((word) => word !== '').join(' · ');
}

function modelNodes(
  brain: JsonObject | null,
  brainPath: Path,
  top: number,
  found: Finder,
): readonly GraphNode[] {
  let y = top;
  return modelStates(brain).map(({ index, value, state, remark }) => {
    const path = [...brainPath, 'models', index];
    const problems = found.of(path);
    const height = heightOf(remark, problems);
    const provider = canonical(textAt(value, 'provider'));
    const modelId = textAt(value, 'model_id');
    const node: GraphNode = {
      kind: 'model',
      id: textOf(path),
      path,
      name: `${provider}/${modelId}`,
      title: modelId || 'a model without a name',
      facts: [describeProvider(provider), textAt(value, 'locality')]
        .filter((word) => word !== '')
        .join(' · '),
      remark,
      dim: state === 'never' || state === 'unused',
      state,
      problems,
      x: columnX.model,
      y,
      height,
    };
    y += height + gaps.entry;
    return node;
  });
}

/** Puts each channel beside its brain where there is space, and the other channels below. */
function channelNodes(
  document: JsonObject,
  routes: readonly ListedRoute[],
  brains: readonly GraphNode[],
  found: Finder,
): readonly GraphNode[] {
  const nodes = entriesOf(document, ['channels']).map(({ path, value }) => {
    const type = canonical(textAt(value, 'type'));
    const name = registeredNameIn(value ?? undefined);
    const own = routes.filter(({ channel }) => channel === name && name !== '');
    const route = own.find(({ when }) => when === null) ?? own[0];
    const brain = brains.find(({ kind, title }) => kind === 'brain' && title === route?.brain);
    const problems = found.of(path);
    const isTold = problems.some(({ code }) => code === 'channel_without_route');
    const remark = route === undefined && !isTold ? 'no route: not started' : null;
    const words = own.every(({ when }) => when === null)
      ? []
      : own.map((one) => `${one.number} · ${takenBy(one, routes)}`);
    const head = heightOf(remark, problems);
    const height =
      words.length > 0 ? head + words.length * rowHeight : Math.max(head, own.length * 36);
    const facts = channelFacts(value, type);
    const platform = findKind(type)?.name;
    const node: GraphNode = {
      kind: 'channel',
      id: textOf(path),
      path,
      name,
      routes: own.length,
      words,
      title: name === '' ? 'a channel without a type' : channelName(name),
      facts: name === type || platform === undefined ? facts : `${platform} · ${facts}`,
      remark,
      dim: route === undefined,
      problems,
      x: columnX.channel,
      y: brain === undefined ? Infinity : brain.y + (brain.height - height) / 2,
      height,
    };
    return node;
  });
  let y = 0;
  return nodes
    .toSorted((one, two) => (one.y === two.y ? 0 : one.y - two.y))
    .map((node) => {
      const at = Math.max(y, Number.isFinite(node.y) ? node.y : y);
      y = at + node.height + gaps.entry;
      return { ...node, y: at };
    });
}

/** None if svc offers no brains to clients; below the channels. */
function apiNodes(
  document: JsonObject,
  channels: readonly GraphNode[],
  found: Finder,
): readonly GraphNode[] {
  const { completions } = document;
  if (!isObject(completions)) return [];
  const path = ['completions'];
  const problems = found.of(path);
  const remark = offeredOf(document).length === 0 ? 'it offers no brain' : null;
  const node = {
    kind: 'API',
    id: textOf(path),
    path,
    title: 'Chat completions',
    facts: `${textAt(completions, 'bind') || schema.fields.completions.fields.bind.default}/v1`,
    remark,
    dim: false,
    problems,
    x: columnX.channel,
    y: Math.max(0, ...channels.map(({ y, height }) => y + height + gaps.entry)),
    height: heightOf(remark, problems),
  } as const;
  return [node];
}

/** The address where it listens, or the way it connects. */
function channelFacts(channel: JsonObject | null, type: string): string {
  const kind = findKind(type);
  if (!kind?.listener) return textAt(channel, 'mode') || (kind?.mode ?? '');
  const own = channel?.[kind.listener.block];
  const block = isObject(own) ? own : null;
  const { bind, path } = kind.listener;
  return (textAt(block, 'bind') || bind) + (textAt(block, 'path') || path);
}

/** Where the lines of a channel's routes begin, as parts of its height from above. */
export function startsOf(node: GraphNode): readonly number[] {
  if (node.kind === 'channel' && node.words.length > 0) {
    const { height, words } = node;
    const top = height - rowsEnd - words.length * rowHeight;
    return words.map((_, at) => (top + (at + 0.5) * rowHeight) / height);
  }
  const many = node.kind === 'channel' ? Math.max(1, node.routes) : 1;
  return Array.from({ length: many }, (_, at) => (at + 0.5) / many);
}

/** In pixels: title, facts, a remark, and two lines of the first problem. */
function heightOf(remark: string | null, problems: readonly ConfigProblem[]): number {
  return 56 + (remark === null ? 0 : 20) + (problems.length === 0 ? 0 : 40);
}

/** In pixels: the row of a route in its channel, and the space below the last one. */
export const rowHeight = 22;
const rowsEnd = 7;

function routeEdges(
  routes: readonly ListedRoute[],
  channels: readonly GraphNode[],
  brains: readonly GraphNode[],
): readonly GraphEdge[] {
  return routes.flatMap((route) => {
    const { path, channel, brain, number } = route;
    const source = channels.find((node) => node.kind === 'channel' && node.name === channel);
    const target = brains.find(({ kind, title }) => kind === 'brain' && title === brain);
    if (source === undefined || target === undefined) return [];
    const own = routes.filter((one) => one.channel === channel);
    const taken = takenBy(route, routes);
    const isOnly = own.length === 1;
    const which = isOnly && route.when === null ? '' : `route ${number}, ${taken}: `;
    const label = `${which}${channelName(channel)} is answered by ${brain}`;
    const id = textOf(path);
    const ends = { source: source.id, target: target.id, from: channel, to: brain };
    return [
      { id, kind: 'route', path, ...ends, dim: false, label, isOnly, at: own.indexOf(route) },
    ];
  });
}

function offerEdges(document: JsonObject, brains: readonly GraphNode[]): readonly GraphEdge[] {
  return offeredOf(document).flatMap((brain) => {
    const target = brains.find(({ kind, title }) => kind === 'brain' && title === brain);
    if (target === undefined) return [];
    const from = completionsChannel;
    const label = `Clients can use ${brain}`;
    const ends = { source: from, target: target.id, from, to: brain };
    const id = `${target.id} offered`;
    return [{ id, kind: 'offers', path: [from], ...ends, dim: false, label, isOnly: true, at: 0 }];
  });
}

function modelEdges(brains: readonly GraphNode[]): readonly GraphEdge[] {
  const owners = brains.filter(({ kind }) => kind === 'brain');
  return brains.flatMap((node) => {
    if (node.kind !== 'model') return [];
    const owner = owners.find(({ path }) => startsWith(node.path, path));
    if (owner === undefined) return [];
    const does = node.dim ? 'never asks' : 'asks';
    const label = `${owner.title} ${does} ${node.title}`;
    return [
      {
        id: `${node.id} asked`,
        kind: 'asks',
        path: node.path,
        source: owner.id,
        target: node.id,
        dim: node.dim,
        label,
        isOnly: true,
        at: 0,
        from: owner.title,
        to: node.name,
      },
    ];
  });
}
