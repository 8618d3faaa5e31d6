/** The configuration as a tree of its parts, which the outline shows. */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import {
  channelTitle,
  listedRoutes,
  takenBy,
  titleOfName,
  type ListedRoute,
} from '../document/channels.ts';
import { startsWith, textOf, type Path } from '../../../src/config/edit/path.ts';
import { modelUsesOf } from '../document/privacy-filter.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, valueAt, wordOf } from '../document/value.ts';

export type TreeNode = {
  /** Unique, so also a key. */
  readonly path: Path;
  readonly label: string;
  /** A word beside the node, such as a warning that a model is never asked. */
  readonly note: string | null;
  /** True: the file does not have it. */
  readonly absent: boolean;
  readonly children: readonly TreeNode[];
};

export function treeOf(document: JsonObject): readonly TreeNode[] {
  return [
    listNode(document, 'channels', 'Channels', channelNode),
    listNode(document, 'brains', 'Brains', brainNode),
    listNode(document, 'routes', 'Routes', routeNodeIn(document)),
    blockNode(document, 'storage', 'Storage'),
    blockNode(document, 'session', 'Sessions'),
    blockNode(document, 'observability', 'Admin server'),
    blockNode(document, 'admin', 'Administrator'),
    blockNode(document, 'completions', 'Chat completions'),
  ];
}

/** The node whose form shows the place. */
export function pageOf(path: Path, document: JsonObject): Path {
  let best: Path = [];
  const look = (nodes: readonly TreeNode[]): void => {
    for (const node of nodes) {
      if (!startsWith(path, node.path)) continue;
      best = node.path;
      look(node.children);
    }
  };
  look(treeOf(document));
  return best;
}

/** The titles of a place's nodes, outermost first: `Brains`, `triage`, `llama3.2`. */
export function crumbsOf(path: Path, document: JsonObject): readonly TreeNode[] {
  const crumbs: TreeNode[] = [];
  let nodes = treeOf(document);
  for (;;) {
    const node = nodes.find((one) => startsWith(path, one.path));
    if (node === undefined) return crumbs;
    crumbs.push(node);
    nodes = node.children;
  }
}

type Make = (entry: Json, path: Path) => TreeNode;

function listNode(document: JsonObject, key: string, label: string, make: Make): TreeNode {
  const list = document[key];
  const entries = isList(list) ? list : [];
  const children = entries.map((entry, at) => make(entry, [key, at]));
  return { path: [key], label, note: String(entries.length), absent: false, children };
}

function blockNode(document: JsonObject, key: string, label: string): TreeNode {
  const value = document[key];
  const absent = value === undefined || value === null;
  const note = absent ? (key === 'observability' ? 'as by default' : 'none') : null;
  return { path: [key], label, note, absent, children: [] };
}

function channelNode(entry: Json, path: Path): TreeNode {
  return leaf(path, channelTitle(entry));
}

function brainNode(entry: Json, path: Path): TreeNode {
  const models = valueAt(entry, ['models']);
  const modelUses = modelUsesOf(entry);
  const children = isList(models)
    ? models.map((model, at) => {
        const modelUse = modelUses[at]?.kind;
        const note = modelUse === 'never' ? 'never asked' : modelUse === 'unused' ? 'unused' : null;
        return leaf([...path, 'models', at], modelName(model), note);
      })
    : [];
  const hasAgent = isObject(valueAt(entry, ['agent']));
  const agent = hasAgent ? [leaf([...path, 'agent'], 'Agent')] : [];
  const sensitivity = valueAt(entry, ['sensitivity']);
  const note = sensitivity === 'private' ? 'private' : null;
  const label = wordOf(valueAt(entry, ['name'])) || 'a brain without a name';
  return { path, label, note, absent: false, children: [...children, ...agent] };
}

export function modelName(model: Json): string {
  return wordOf(valueAt(model, ['model_id'])) || 'a model without a name';
}

/** Where a channel has several routes, the note says which messages each takes. */
function routeNodeIn(document: JsonObject): Make {
  const all = listedRoutes(document);
  return (_, path) => {
    const route = all[Number(path[1])]!;
    const isOnly = route.when === null && takenBy(route, all) === 'every message';
    return leaf(path, routeTitle(route, document), isOnly ? null : takenBy(route, all));
  };
}

/** `support (its platform) → coder` */
function routeTitle({ channel, brain }: ListedRoute, document: JsonObject): string {
  return `${titleOfName(document, channel)} → ${brain || '?'}`;
}

function leaf(path: Path, label: string, note: string | null = null): TreeNode {
  return { path, label, note, absent: false, children: [] };
}

/** A node and its depth in the tree. */
export type Row = {
  readonly node: TreeNode;
  readonly key: string;
  readonly level: number;
  readonly parent: string | null;
  readonly position: number;
  readonly siblings: number;
};

/** The visible rows: those of open nodes, or the search results and their ancestors. */
export function rowsOf(
  nodes: readonly TreeNode[],
  isOpen: (key: string) => boolean,
  search: string,
): readonly Row[] {
  const wanted = search.trim().toLowerCase();
  const walk = (list: readonly TreeNode[], level: number, parent: string | null): Row[] => {
    const shown = wanted === '' ? list : list.filter((node) => isFound(node, wanted));
    return shown.flatMap((node, at) => {
      const key = textOf(node.path);
      const row = { node, key, level, parent, position: at + 1, siblings: shown.length };
      const goesOn = wanted !== '' || isOpen(key);
      return [row, ...(goesOn ? walk(node.children, level + 1, key) : [])];
    });
  };
  return walk(nodes, 1, null);
}

/** The first row that matches the search; its ancestors do not match. */
export function firstFound(rows: readonly Row[], search: string): Row | undefined {
  const wanted = search.trim().toLowerCase();
  return rows.find(({ node }) => node.label.toLowerCase().includes(wanted)) ?? rows[0];
}

function isFound(node: TreeNode, wanted: string): boolean {
  return (
    node.label.toLowerCase().includes(wanted) || node.children.some((one) => isFound(one, wanted))
  );
}
