import { startsWith, pathOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { leaveOutline } from './folding.tsx';
import type { Row } from './tree.ts';
import { AsWritten } from '../../kit/as-written.tsx';

type Props = {
  readonly row: Row;
  /** Whether the Tab key focuses this line. */
  readonly current: boolean;
  readonly selected: boolean;
  readonly open: boolean;
  readonly onToggle: () => void;
};

const indents = ['ps-1', 'ps-1', 'ps-5', 'ps-9'];

/** One line of the outline. */
export function Branch({ row, current, selected, open, onToggle }: Props) {
  const { node, key, level, position, siblings } = row;
  const hasChildren = node.children.length > 0;
  const select = useDraft((state) => state.select);
  const faint = node.absent ? 'text-soft' : 'text-ink';
  return (
    <div
      role="treeitem"
      data-key={key}
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-selected={selected}
      aria-expanded={hasChildren ? open : undefined}
      tabIndex={current ? 0 : -1}
      onClick={() => {
        select(node.path);
        leaveOutline();
      }}
      onKeyDown={undefined}
      className={`flex min-h-8 cursor-default items-center gap-1.5 rounded-md pe-2 text-sm hover:bg-raised aria-selected:bg-accent-ground aria-selected:font-medium forced-colors:aria-selected:border-s-4 forced-colors:aria-selected:border-[Highlight] ${indents[level] ?? 'ps-9'} ${faint}`}
    >
      <span
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          if (hasChildren) onToggle();
        }}
        className={`inline-block w-4 shrink-0 text-center text-soft ${open ? 'rotate-90' : ''}`}
      >
        {hasChildren ? '›' : ''}
      </span>
      <span className="flex min-w-0 flex-wrap items-baseline gap-x-1.5">
        <span className="line-clamp-3 max-w-full wrap-anywhere">
          <AsWritten text={node.label} />
        </span>
        {node.note === null ? null : (
          <span className="max-w-full truncate text-xs font-normal text-soft">
            <AsWritten text={node.note} />
          </span>
        )}
      </span>
      <Marks row={row} open={open} />
    </div>
  );
}

/** The number of problems at the place, or below its folded line. */
function Marks({ row, open }: { readonly row: Row; readonly open: boolean }) {
  const problems = useDraft((state) => state.problems);
  const shownBelow = open ? row.node.children : [];
  const mine = problems.filter(({ path }) => {
    const at = pathOf(path);
    return (
      at.length > 0 &&
      startsWith(at, row.node.path) &&
      !shownBelow.some((child) => startsWith(at, child.path))
    );
  });
  const errors = mine.filter(({ severity }) => severity === 'error').length;
  if (mine.length === 0) return null;
  const [mark, tone, word] =
    errors > 0 ? ['✗', 'text-bad', 'to mend'] : ['!', 'text-wait', 'to look at'];
  const count = errors > 0 ? errors : mine.length;
  return (
    <span className={`ms-auto shrink-0 text-xs font-semibold ${tone}`}>
      <span aria-hidden="true">{mark} </span>
      {count}
      <span className="sr-only"> {word}</span>
    </span>
  );
}
