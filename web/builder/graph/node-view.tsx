/** The drawing of one node of the graph. */
import { Handle, Position, type Node, type NodeProps } from '@xyflow/react';
import { memo } from 'react';
import { AsWritten } from '../../kit/as-written.tsx';
import { State } from '../../kit/state.tsx';
import { useDraft } from '../document/store.ts';
import { withPlaces } from '../outline/place-words.ts';
import { rowHeight, startsOf, type GraphNode } from './drawing.ts';

export type FlowNode = Node<{ readonly shown: GraphNode }>;

const kinds = { channel: 'Channel', brain: 'Brain', model: 'Model', API: 'API' } as const;

/** One node. Its height comes from the drawing, so nothing is measured. */
export const NodeView = memo(function NodeView({ data, selected }: NodeProps<FlowNode>) {
  const { shown } = data;
  const { kind, title, facts, remark, dim, problems } = shown;
  const document = useDraft((state) => state.document);
  const worst = problems.find(({ severity }) => severity === 'error') ?? problems[0];
  const isError = worst?.severity === 'error';
  const edge = isError ? 'border-bad' : selected ? 'border-accent' : 'border-edge';
  const ring = selected ? 'outline-2 outline-offset-1 outline-accent' : '';
  const ground = isError ? 'bg-bad-ground' : dim ? 'bg-paper border-dashed' : 'bg-card';
  const crossed = kind === 'model' && dim;
  return (
    <div
      className={`@container flex h-full w-full flex-col rounded-md border px-3 py-1.5 text-sm text-ink ${edge} ${ring} ${ground}`}
    >
      <div className="flex items-baseline justify-between gap-2">
        <strong className={`truncate ${crossed ? 'line-through' : ''}`} title={title}>
          <AsWritten text={title} />
        </strong>
        <span className="shrink-0 text-xs text-soft @max-[9rem]:hidden">{kinds[kind]}</span>
      </div>
      <span className="truncate text-soft" title={facts}>
        {facts}
      </span>
      {remark === null ? null : <span className="truncate text-soft italic">{remark}</span>}
      {worst === undefined ? null : (
        <div className="line-clamp-2 leading-5">
          <State tone={isError ? 'bad' : 'wait'}>{isError ? 'Problem' : 'Warning'}</State>{' '}
          {withPlaces(worst.message, document)}
          {problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''}
        </div>
      )}
      {kind === 'channel' && shown.words.length > 0 ? (
        <ol aria-label="Routes" className="mt-auto text-soft">
          {shown.words.map((words) => (
            <li
              key={words}
              title={words}
              className="truncate pe-1 text-end text-xs"
              style={{ lineHeight: `${rowHeight}px` }}
            >
              <AsWritten text={words} />
            </li>
          ))}
        </ol>
      ) : null}
      {kind === 'channel' || kind === 'API' ? null : (
        <Handle type="target" position={Position.Left} />
      )}
      {kind === 'brain' ? <Handle type="source" position={Position.Right} /> : null}
      {kind === 'channel' || kind === 'API'
        ? startsOf(shown).map((part, at) => (
            <Handle
              // The lines of a channel are known by their places.
              // oxlint-disable-next-line react/no-array-index-key
              key={at}
              id={String(at)}
              type="source"
              position={Position.Right}
              style={{ top: `${part * 100}%` }}
            />
          ))
        : null}
    </div>
  );
});
