/** The entries of the palette: every place of the configuration, and actions. */
import { textOf, type Path } from '../../../src/config/edit/path.ts';
import { startOf } from '../document/starts.ts';
import { redo, undo, useDraft } from '../document/store.ts';
import { isList, valueAt } from '../document/value.ts';
import { treeOf, type TreeNode } from '../outline/tree.ts';
import { nextProblem } from '../problems/next.ts';
import { goToField, goToView } from './going.ts';
import { signOut } from './leaving.tsx';
import { views } from './views.ts';

export type Command = {
  /** Unique, so also a key. */
  readonly name: string;
  /** Text beside the name. */
  readonly note: string;
  readonly run: () => void;
};

const lists = ['channels', 'brains', 'routes'] as const;
const blocks = ['storage', 'session', 'admin', 'completions'] as const;

/** The commands for the draft as it is now. */
export function commands(): readonly Command[] {
  const { document } = useDraft.getState();
  return [
    ...placesOf(treeOf(document), ''),
    ...views.map(({ name, title }) => command(`Show ${title}`, '', () => goToView(name))),
    ...lists.map((list) => command(`Add a ${list.slice(0, -1)}`, '', () => addTo([list]))),
    ...blocks
      .filter((block) => valueAt(document, [block]) === undefined)
      .map((block) => command(`Add ${block}`, '', () => addBlock([block]))),
    command('Next problem', 'F8', nextProblem),
    command('Undo', 'Ctrl Z', undo),
    command('Redo', 'Ctrl Shift Z', redo),
    command('Sign out', '', signOut),
  ];
}

function command(name: string, note: string, run: () => void): Command {
  return { name, note, run };
}

function placesOf(nodes: readonly TreeNode[], around: string): readonly Command[] {
  return nodes.flatMap(({ path, label, children }) => {
    const name = around === '' ? label : `${around} › ${label}`;
    const place = command(name, textOf(path), () => goToField(path));
    return [place, ...placesOf(children, name)];
  });
}

function addTo(list: Path): void {
  const draft = useDraft.getState();
  const entries = valueAt(draft.document, list);
  const at = isList(entries) ? entries.length : 0;
  const path = [...list, at];
  if (draft.insert(list, at, startOf(path, draft.document))) goToField(path);
}

function addBlock(path: Path): void {
  const draft = useDraft.getState();
  if (draft.edit(path, startOf(path, draft.document))) goToField(path);
}

/** The commands that contain every word of the search, in their order. */
export function matchingCommands(all: readonly Command[], search: string): readonly Command[] {
  const words = search.toLowerCase().split(/\s+/);
  return all.filter(({ name, note }) => {
    const text = `${name} ${note}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
