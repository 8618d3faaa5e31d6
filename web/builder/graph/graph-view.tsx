import '@xyflow/react/dist/base.css';
import './flow.css';
import {
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  type Connection,
  type Edge,
  type EdgeChange,
  type NodeChange,
} from '@xyflow/react';
import { useCallback, useEffect, useMemo, useRef, type KeyboardEvent } from 'react';
import type { Status } from '../../../src/admin/admin.ts';
import { Button } from '../../kit/button.tsx';
import { goTo } from '../../kit/place.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { pathOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { Adding } from './adding.tsx';
import { change, connect } from './doing.ts';
import { removeFrom } from './actions.ts';
import { drawingOf, type Drawing } from './drawing.ts';
import { flowEdges, flowNodes, type Wideness } from './flow.ts';
import { NodeView, type FlowNode } from './node-view.tsx';
import { Selected } from './selected.tsx';

const nodeTypes = { shown: NodeView };
const fit = { padding: 0.08, maxZoom: 1, minZoom: 0.5 };

/** Instructions for screen readers. */
const spoken = {
  'node.a11yDescription.default': 'Press Enter to choose it, and Enter again for its form.',
  'node.a11yDescription.keyboardDisabled':
    'Press Enter to choose it, and Enter again for its form.',
  'node.a11yDescription.ariaLiveMessage': () => '',
  'edge.a11yDescription.default': 'Press Enter to choose the route, then Delete to take it out.',
};

/** Channels, brains and models in three columns, and the selected node beside them. */
export function GraphView() {
  const document = useDraft((state) => state.document);
  const problems = useDraft((state) => state.problems);
  const drawing = useMemo(() => drawingOf(document, problems), [document, problems]);
  return (
    <ReactFlowProvider>
      <div className="flex min-h-0 flex-1 flex-col 2xl:flex-row">
        <div className="flex min-h-[24rem] min-w-0 flex-1 flex-col">
          <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
            <Adding />
            <Zoom />
          </div>
          <Canvas drawing={drawing} />
        </div>
        <Selected drawing={drawing} />
      </div>
    </ReactFlowProvider>
  );
}

/** Below this width in pixels, the columns are narrow. */
const narrowBelow = 500;

/**
 * Up to this number, all nodes fit in the view; of more, the first ones show at a readable size.
 */
const fittedMax = 24;

/** Keeps all nodes in view while the size changes, until a person moves the view. */
function useFitting(count: number, wide: Wideness): (event: unknown) => void {
  const { fitView } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const isMoved = useRef(false);
  useEffect(() => {
    if (width > 0 && height > 0 && count <= fittedMax && !isMoved.current) void fitView(fit);
    // A new column width fits the view again.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [width, height, count, wide, fitView]);
  return useCallback((event: unknown) => {
    if (event !== null) isMoved.current = true;
  }, []);
}

const throughputEveryMs = 2_000;

function Canvas({ drawing }: { readonly drawing: Drawing }) {
  const selection = useDraft((state) => state.selection);
  const wide = useStore(({ width }) => (width > 0 && width < narrowBelow ? 'narrow' : 'whole'));
  const nodes = useMemo(() => flowNodes(drawing, selection, wide), [drawing, selection, wide]);
  const { value: status } = useAsked<Status>('status', throughputEveryMs);
  const throughput = status?.traffic ?? null;
  const edges = useMemo(
    () => flowEdges(drawing, selection, throughput),
    [drawing, selection, throughput],
  );
  const onNodesChange = useCallback((changes: NodeChange<FlowNode>[]) => {
    const chosen = changes.find((one) => one.type === 'select' && one.selected);
    if (chosen?.type === 'select') useDraft.getState().select(pathOf(chosen.id));
  }, []);
  const onEdgesChange = useCallback((changes: EdgeChange[]) => {
    const chosen = changes.find((one) => one.type === 'select' && one.selected);
    if (chosen?.type === 'select') useDraft.getState().select(pathOf(chosen.id));
  }, []);
  const onConnect = useCallback(({ source, target }: Connection) => connect(source, target), []);
  const onDelete = useCallback(({ edges: gone }: { edges: Edge[] }) => {
    for (const { id } of gone) change((now) => removeFrom(now, pathOf(id)));
  }, []);
  const onMove = useFitting(drawing.nodes.length, wide);
  return (
    <div id="graph" tabIndex={-1} className="min-h-0 flex-1 outline-none">
      <ReactFlow
        aria-label="Graph"
        onKeyDown={openOnEnter}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        ariaLabelConfig={spoken}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onConnect={onConnect}
        onDelete={onDelete}
        onNodeDoubleClick={openForm}
        isValidConnection={isConnection}
        onlyRenderVisibleElements
        nodesDraggable={false}
        deleteKeyCode={['Delete', 'Backspace']}
        multiSelectionKeyCode={null}
        selectionKeyCode={null}
        panOnScroll
        zoomOnDoubleClick={false}
        minZoom={0.2}
        maxZoom={1.5}
        onMove={onMove}
        proOptions={{ hideAttribution: true }}
        onBeforeDelete={keepNodes}
      />
    </div>
  );
}

/**
 * No key removes a node, since a person could remove a whole brain by accident; the panel has a
 * button.
 */
const keepNodes = ({ edges }: { edges: Edge[] }) => Promise.resolve({ nodes: [], edges });

const isConnection = ({ source, target }: Connection | Edge): boolean => {
  const [from, to] = [source, target].map((id) => pathOf(id));
  if (from?.[0] === 'channels') return to?.[0] === 'brains' && to.length === 2;
  return from?.length === 2 && to?.length === 4;
};

function openForm(): void {
  goTo({ view: 'form' });
}

/** Enter on a selected node opens its form. */
function openOnEnter(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || !(event.target instanceof Element)) return;
  if (event.target.matches('.react-flow__node.selected')) openForm();
}

function Zoom() {
  const { zoomIn, zoomOut, fitView } = useReactFlow();
  return (
    <div className="ms-auto flex gap-1">
      <Button small kind="quiet" aria-label="Zoom out" onClick={() => void zoomOut()}>
        −
      </Button>
      <Button small kind="quiet" aria-label="Zoom in" onClick={() => void zoomIn()}>
        +
      </Button>
      <Button small kind="quiet" onClick={() => void fitView(fit)}>
        Show all
      </Button>
    </div>
  );
}
