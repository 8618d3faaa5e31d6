import { useDeferredValue, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { Button } from '../../kit/button.tsx';
import { inputLook } from '../../kit/field.tsx';
import { isSamePath, textOf, type Path } from '../../../src/config/edit/path.ts';
import { addEntry } from '../document/added.ts';
import { useDraft } from '../document/store.ts';
import { isList, valueAt } from '../document/value.ts';
import { announce } from '../shell/announce.tsx';
import { goToField } from '../shell/going.ts';
import { Branch } from './branch.tsx';
import { firstFound, rowsOf, treeOf, type Row } from './tree.ts';

/** The tree of the whole configuration, for eye and keyboard. The form shows its selection. */
export function Outline() {
  // Typing must not wait for the outline.
  const document = useDeferredValue(useDraft((state) => state.document));
  const selection = useDraft((state) => state.selection);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [search, setSearch] = useState('');
  const tree = useRef<HTMLDivElement>(null);
  const nodes = useMemo(() => treeOf(document), [document]);
  const rows = rowsOf(nodes, (key) => !closed.has(key), search);
  const selected = rows.find(({ node }) => isSamePath(node.path, selection));
  const current = selected ?? rows[0];

  const toggle = (key: string, open: boolean): void => {
    const next = new Set(closed);
    if (open) next.delete(key);
    else next.add(key);
    setClosed(next);
  };
  const choose = (row: Row | undefined): void => {
    if (row === undefined) return;
    useDraft.getState().select(row.node.path);
    tree.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(row.key)}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (current === undefined) return;
    const done = pressed(event, { rows, current, closed, toggle, choose });
    if (done) event.preventDefault();
  };
  return (
    <nav aria-label="Outline" className="flex min-h-0 flex-1 flex-col gap-2">
      <input
        id="outline-search"
        type="search"
        aria-label="Search the outline"
        placeholder="Search  /"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setSearch('');
          if (event.key === 'Enter') choose(firstFound(rows, search));
          if (event.key === 'ArrowDown') choose(rows[0]);
        }}
        className={inputLook}
      />
      <div
        ref={tree}
        role="tree"
        aria-label="Configuration"
        tabIndex={-1}
        onKeyDown={onKeyDown}
        className="relative min-h-0 flex-1 overflow-y-auto"
      >
        {rows.map((row) => (
          <Branch
            key={row.key}
            row={row}
            current={row === current}
            selected={row === selected}
            open={search !== '' || !closed.has(row.key)}
            onToggle={() => toggle(row.key, closed.has(row.key))}
          />
        ))}
      </div>
      {rows.length === 0 ? <p className="text-sm text-soft">Nothing is called so.</p> : null}
      <Adding />
    </nav>
  );
}

type Pressed = {
  readonly rows: readonly Row[];
  readonly current: Row;
  readonly closed: ReadonlySet<string>;
  readonly toggle: (key: string, open: boolean) => void;
  readonly choose: (row: Row | undefined) => void;
};

/** The keys of a tree: https://www.w3.org/WAI/ARIA/apg/patterns/treeview/ */
function pressed(event: KeyboardEvent, tree: Pressed): boolean {
  const { rows, current, closed, toggle, choose } = tree;
  const at = rows.indexOf(current);
  const hasChildren = current.node.children.length > 0;
  if (event.altKey) return moved(event.key, current.node.path);
  if (event.ctrlKey || event.metaKey) return false;
  switch (event.key) {
    case 'ArrowDown':
      choose(rows[at + 1]);
      return true;
    case 'ArrowUp':
      choose(rows[at - 1]);
      return true;
    case 'Home':
      choose(rows[0]);
      return true;
    case 'End':
      choose(rows.at(-1));
      return true;
    case 'ArrowRight':
      if (hasChildren && closed.has(current.key)) toggle(current.key, true);
      else if (hasChildren) choose(rows[at + 1]);
      return true;
    case 'ArrowLeft':
      if (hasChildren && !closed.has(current.key)) toggle(current.key, false);
      else choose(rows.find(({ key }) => key === current.parent));
      return true;
    case 'Enter':
    case ' ':
      goToField(current.node.path);
      return true;
    case 'Delete':
      return removed(current);
    default:
      return false;
  }
}

/** Alt with an arrow key moves an entry up or down in its list. */
function moved(key: string, path: Path): boolean {
  const step = key === 'ArrowUp' ? -1 : key === 'ArrowDown' ? 1 : 0;
  const at = path.at(-1);
  if (step === 0 || typeof at !== 'number') return false;
  const list = path.slice(0, -1);
  const draft = useDraft.getState();
  if (draft.move(list, at, at + step)) draft.select([...list, at + step]);
  return true;
}

function removed({ node, parent }: Row): boolean {
  const isEntry = typeof node.path.at(-1) === 'number';
  const draft = useDraft.getState();
  const isThere = !node.absent && (isEntry || !isList(valueAt(draft.document, node.path)));
  if (!isThere || !draft.remove(node.path)) return false;
  announce(`${node.label} is removed; undo brings it back.`);
  const stands = valueAt(useDraft.getState().document, node.path) !== undefined;
  if (!stands && isEntry && parent !== null) draft.select(node.path.slice(0, -1));
  requestAnimationFrame(() => {
    document.querySelector<HTMLElement>('[role=treeitem][tabindex="0"]')?.focus();
  });
  return true;
}

const kinds = [
  { list: 'channels', label: 'Channel' },
  { list: 'brains', label: 'Brain' },
  { list: 'routes', label: 'Route' },
] as const;

function Adding() {
  const readable = useDraft((state) => state.readable);
  const add = (list: Path, label: string): void => {
    const path = addEntry(list);
    if (path === null) return;
    announce(`${label} added.`);
    goToField(path);
  };
  return (
    <div role="group" aria-label="Add" className="flex flex-wrap gap-1.5">
      {kinds.map(({ list, label }) => (
        <Button
          key={textOf([list])}
          small
          disabled={!readable}
          onClick={() => add([list], label)}
          aria-label={`Add a ${label.toLowerCase()}`}
        >
          + {label}
        </Button>
      ))}
    </div>
  );
}
