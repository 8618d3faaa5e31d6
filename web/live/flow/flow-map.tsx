import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { OfBefore } from '../../kit/of-before.tsx';
import { PageLink } from '../../kit/page-link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State } from '../../kit/state.tsx';
import { visible } from '../../kit/visible.ts';
import { count } from '../../kit/words.ts';
import { useMedia } from '../use-media.ts';
import { graphOf, type FlowGraph, type FlowNode } from './graph.ts';
import { lineKey, ratesOf, type Rates } from './rates.ts';
import type { RouteStatus } from '../../../src/admin/admin.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { useRefresh } from '../use-refresh.ts';
import { useStatus } from '../status.tsx';

/** In pixels: space for a name, a state, and the targets. */
const nodeHeight = 96;
/** In pixels: another line of a channel, for each of its routes; the middle of the first one. */
const routeHeight = 22;
const firstRouteAt = 74;
const gap = 14;
/** Left edge and width of the columns in per cent. */
const columnAt = [0, 36, 72] as const;
const columnWidth = 28;

/** A read-only map: channels, the brains that answer them, and the models that the brains ask. */
export function FlowMap() {
  const { value: status, refused } = useStatus();
  const { value: routes, again } = useAsked<{ readonly rows: readonly RouteStatus[] }>('routes');
  useRefresh(['plan_used'], again);
  const isWide = useMedia('(min-width: 48rem)');
  const canEdit = status?.access === 'operator';
  const rates = status === null ? noRates : ratesOf(status);
  return (
    <Panel
      title="Flow"
      aside={<span className="text-sm text-soft">Answered, and asked, in the last minute.</span>}
    >
      <Asking value={status} refused={refused} />
      {status === null ? null : (
        <OfBefore when={refused !== null}>
          {isWide ? (
            <Drawing graph={graphOf(status, routes?.rows)} {...{ rates, canEdit }} />
          ) : (
            <Lists graph={graphOf(status, routes?.rows)} {...{ rates, canEdit }} />
          )}
        </OfBefore>
      )}
    </Panel>
  );
}

const noRates: Rates = { nodes: new Map(), lines: new Map() };

type Props = {
  readonly graph: FlowGraph;
  readonly rates: Rates;
  /** Whether the builder is available. */
  readonly canEdit: boolean;
};

function Drawing({ graph, rates, canEdit }: Props) {
  const { columns } = graph;
  const ends = columns.map(({ nodes }) => topOf(nodes, nodes.length));
  const height = Math.max(...ends) - gap;
  return (
    <div>
      <div className="relative h-7">
        {columns.map(({ title }, column) => (
          <h3
            key={title}
            className="absolute text-sm text-soft"
            style={{ left: `${columnAt[column]}%` }}
          >
            {title}
          </h3>
        ))}
      </div>
      <div className="relative" style={{ height }}>
        <Edges graph={graph} rates={rates} height={height} />
        {columns.map(({ title, nodes }, column) => (
          <ul key={title} aria-label={title}>
            {nodes.map((node, index) => (
              <li
                key={node.key}
                className="absolute"
                style={{
                  left: `${columnAt[column]}%`,
                  width: `${columnWidth}%`,
                  top: topOf(nodes, index),
                  height: heightOf(node),
                }}
              >
                <Node node={node} rates={rates} canEdit={canEdit} />
              </li>
            ))}
          </ul>
        ))}
      </div>
    </div>
  );
}

/** Where a node of a column begins; behind the last one, where another would. */
function topOf(nodes: readonly FlowNode[], index: number): number {
  return nodes.slice(0, index).reduce((sum, node) => sum + heightOf(node) + gap, 0);
}

function heightOf({ routes }: FlowNode): number {
  return nodeHeight + Math.max(0, routes.length - 1) * routeHeight;
}

/** Where a line leaves a node: beside its route, or in the middle. */
const lineAt = (node: { readonly height: number; readonly lines: number }, at: number): number =>
  node.lines > 1 ? firstRouteAt + at * routeHeight : node.height / 2;

type EdgesProps = Omit<Props, 'canEdit'> & { readonly height: number };

function Edges({ graph, rates, height }: EdgesProps) {
  const spots = new Map(
    graph.columns.flatMap(({ nodes }, column) =>
      nodes.map((node, index) => {
        const spot = { x: columnAt[column]!, y: topOf(nodes, index), height: heightOf(node) };
        return [node.key, { ...spot, lines: Math.max(1, node.routes.length) }] as const;
      }),
    ),
  );
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 100 ${height}`}
      preserveAspectRatio="none"
      className="absolute inset-0 size-full"
    >
      {graph.edges.map(({ from, to, isOpen, at }) => {
        const [a, b] = [spots.get(from), spots.get(to)];
        if (a === undefined || b === undefined) return null;
        const x = a.x + columnWidth;
        const middle = (a.x + columnWidth + b.x) / 2;
        const [begin, end] = [a.y + lineAt(a, at), b.y + b.height / 2];
        const isBusy = isOpen && (rates.lines.get(lineKey(from, to)) ?? 0) > 0;
        return (
          <path
            key={`${from} ${to} ${at}`}
            d={`M ${x} ${begin} C ${middle} ${begin}, ${middle} ${end}, ${b.x} ${end}`}
            fill="none"
            stroke="currentColor"
            strokeWidth={isBusy ? 2.5 : 1.5}
            strokeDasharray={isOpen ? undefined : '4 4'}
            vectorEffect="non-scaling-stroke"
            className={isBusy ? 'text-accent' : 'text-edge'}
          />
        );
      })}
    </svg>
  );
}

/** The same nodes as a list, if there is no space for lines. */
function Lists({ graph, rates, canEdit }: Props) {
  return graph.columns.map(({ title, nodes }) => (
    <div key={title} className="flex flex-col gap-2">
      <h3 className="text-sm text-soft">{title}</h3>
      <ul aria-label={title} className="flex flex-col gap-2">
        {nodes.map((node) => (
          <li key={node.key}>
            <Node node={node} rates={rates} canEdit={canEdit} />
          </li>
        ))}
      </ul>
    </div>
  ));
}

type NodeProps = Omit<Props, 'graph'> & { readonly node: FlowNode };

function Node({ node, rates, canEdit }: NodeProps) {
  const { key, name, tone, state, to, routes, place, at } = node;
  const rate = rates.nodes.get(key) ?? 0;
  return (
    <div className="relative flex h-full flex-col justify-center gap-0.5 rounded-md border border-line bg-card px-3 py-2 hover:border-edge">
      <div className="flex items-baseline justify-between gap-2">
        <Link
          to={place}
          className="truncate font-medium text-ink no-underline after:absolute after:inset-0"
        >
          <AsWritten text={name} />
        </Link>
        <span className="shrink-0 tabular-nums">{count(rate)}</span>
      </div>
      <div className="flex items-baseline justify-between gap-2 text-sm">
        <span className="min-w-0 truncate">
          <State tone={tone}>{state}</State>
        </span>
        {canEdit ? <Edit name={name} at={at} /> : null}
      </div>
      {routes.length === 0 ? null : (
        <ol aria-label="Routes" className="text-sm text-soft">
          {routes.map(({ words, brain }) => (
            <li
              key={words}
              className="flex"
              style={{ lineHeight: `${routeHeight}px` }}
              title={visible(`${words} → ${brain}`)}
            >
              <span className="truncate">
                <AsWritten text={words} />
              </span>
              <span className="ms-1 max-w-1/2 shrink-0 truncate">
                {' → '}
                <AsWritten text={brain} />
              </span>
            </li>
          ))}
        </ol>
      )}
      {to.length === 0 || routes.length > 0 ? null : (
        <p className="truncate text-sm text-soft">
          <span aria-hidden="true">→ </span>
          <span className="sr-only">leads to </span>
          <AsWritten text={to.map(visible).join(', ')} />
        </p>
      )}
    </div>
  );
}

/** A link above the link that fills the node. */
function Edit({ name, at }: { readonly name: string; readonly at: string }) {
  const place = new URLSearchParams({ view: 'form', at });
  return (
    <PageLink
      href={`/builder?${place.toString()}`}
      className="relative z-10 inline-flex min-h-6 shrink-0 items-center px-1"
    >
      Edit<span className="sr-only"> {visible(name)} in the builder</span>
    </PageLink>
  );
}
