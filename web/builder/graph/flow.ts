/** Nodes and edges for the graph library, with every size given, so that it measures nothing. */
import { Position, type Edge } from '@xyflow/react';
import type { ThroughputStatus } from '../../../src/admin/admin.ts';
import { isSamePath, type Path } from '../../../src/config/edit/path.ts';
import { nodeWidth, startsOf, type Drawing, type GraphNode } from './drawing.ts';
import type { FlowNode } from './node-view.tsx';

/** The share of the full width that a column takes: on a phone, all three columns are visible. */
export const wideness = { whole: 1, narrow: 0.5 } as const;

export type Wideness = keyof typeof wideness;

const known = {
  whole: new WeakMap<GraphNode, FlowNode>(),
  narrow: new WeakMap<GraphNode, FlowNode>(),
};

export function flowNodes({ nodes }: Drawing, selection: Path, wide: Wideness): FlowNode[] {
  return nodes.map((shown) => {
    const node = known[wide].get(shown) ?? flowNode(shown, wideness[wide]);
    known[wide].set(shown, node);
    if (!isSamePath(shown.path, selection)) return node;
    return {
      ...node,
      selected: true,
      domAttributes: { ...node.domAttributes, 'aria-current': true },
    };
  });
}

function flowNode(shown: GraphNode, part: number): FlowNode {
  const { id, kind, y, height } = shown;
  const x = shown.x * part;
  const width = nodeWidth * part;
  const size = { width, height };
  const middle = { y: height / 2 - 7, width: 14, height: 14 };
  const target = { ...middle, type: 'target', position: Position.Left, x: -7 } as const;
  const source = {
    ...middle,
    type: 'source',
    position: Position.Right,
    x: width - 7,
  } as const;
  const sources = startsOf(shown).map((share, at) => {
    return { ...source, id: String(at), y: height * share - 7 };
  });
  return {
    id,
    type: 'shown',
    position: { x, y },
    ...size,
    measured: size,
    handles: kind === 'brain' ? [target, source] : kind === 'model' ? [target] : sources,
    data: { shown },
    ariaLabel: labelOf(shown),
    domAttributes: { 'aria-roledescription': kind },
  };
}

/** The node's text for screen readers. */
function labelOf({ kind, title, facts, remark, problems }: GraphNode): string {
  const wrong = problems.map(({ severity, message }) => `${severity}: ${message}`);
  return [`${kind} ${title}`, facts, ...(remark === null ? [] : [remark]), ...wrong].join(', ');
}

/** @param throughput of the running service; null: the service does not report it */
export function flowEdges(
  { edges }: Drawing,
  selection: Path,
  throughput: ThroughputStatus | null,
): Edge[] {
  return edges.map(({ id, kind, path, source, target, dim, label, isOnly, at, from, to }) => {
    const count = kind === 'asks' ? asked(throughput, from, to) : answered(throughput, from, to);
    const isBusy = count > 0;
    return {
      id,
      source,
      ...(kind !== 'asks' && { sourceHandle: String(at) }),
      target,
      className: dim ? 'dim' : isBusy ? 'busy' : '',
      ariaLabel: isBusy ? `${label}, ${count} in the last minute` : label,
      ...(isBusy && isOnly && { label: `${count}/min` }),
      data: { kind },
      selected: kind === 'route' && isSamePath(path, selection),
      selectable: kind === 'route',
      focusable: kind === 'route',
      deletable: kind === 'route',
    };
  });
}

function answered(throughput: ThroughputStatus | null, channel: string, brain: string): number {
  const way = throughput?.answered.find((one) => one.channel === channel && one.brain === brain);
  return way?.perMinute ?? 0;
}

function asked(throughput: ThroughputStatus | null, brain: string, model: string): number {
  const way = throughput?.asked.find((one) => one.brain === brain && one.model === model);
  return way?.perMinute ?? 0;
}
