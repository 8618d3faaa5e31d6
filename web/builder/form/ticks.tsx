import type { ReactNode } from 'react';
import type { ChoiceField, ListField } from '../../../src/config/field.ts';
import type { Json } from '../../../src/config/locate.ts';
import { Button } from '../../kit/button.tsx';
import type { Edit } from '../../../src/config/edit/edit-text.ts';
import { meant } from '../document/fields.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { startOf } from '../document/starts.ts';
import { useDraft } from '../document/store.ts';
import { isList, valueAt, wordOf } from '../document/value.ts';
import { idOf } from '../shell/going.ts';
import { useProblems, useValue } from './at.ts';
import { Row, type InputProps } from './row.tsx';
import { ProblemList } from './problem-list.tsx';
import { cageOf, toolWords } from './tool-words.ts';
import { keyOf, meaningOf, sentence } from './words.tsx';

type Props = InputProps<ListField> & {
  readonly names: ChoiceField;
  /** Titles of names that the schema does not know. */
  readonly labels?: ReadonlyMap<string, string>;
};

/** A list of known names, with a box for each. */
export function Ticks({ path, field, required, names, labels }: Props) {
  const value = useValue(path);
  const problems = useProblems(path);
  const entries = isList(value) ? value : null;
  const isTools = keyOf(path) === 'tools';
  const places = placesOf(entries ?? [], names);
  return (
    <Row path={path} field={field} required={required} problems={problems} group>
      <div className="flex flex-col gap-1.5">
        {names.names.map((name, at) => (
          <Tick
            key={name}
            id={at === 0 ? idOf(path) : `${idOf(path)}-${name}`}
            name={labels?.get(name) ?? meaningOf(name)}
            checked={places.known.has(name)}
            onChange={(on) => tick({ path, name, at: places.known.get(name), on, isTools })}
          >
            {isTools ? sentence(toolWords[name] ?? '') : null}
          </Tick>
        ))}
      </div>
      {entries === null && !required ? <p className="text-sm">Not set.</p> : null}
      {entries?.length === 0 ? <p className="text-sm">The list is empty.</p> : null}
      {places.odd.map((at) => (
        <OddEntry key={at} path={[...path, at]} />
      ))}
      {entries === null || required ? null : (
        <div>
          <Button small kind="quiet" onClick={() => useDraft.getState().remove(path)}>
            Leave it out
          </Button>
        </div>
      )}
    </Row>
  );
}

type TickProps = {
  readonly id: string;
  readonly name: string;
  readonly checked: boolean;
  readonly onChange: (on: boolean) => void;
  readonly children: ReactNode;
};

function Tick({ id, name, checked, onChange, children }: TickProps) {
  return (
    <div className="flex items-start gap-2">
      <input
        id={id}
        type="checkbox"
        aria-describedby={`${id}-means`}
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
        className="size-6 shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <label htmlFor={id} className="font-mono text-sm">
          {name}
        </label>
        <span id={`${id}-means`} className="block text-sm text-soft">
          {children}
        </span>
      </span>
    </div>
  );
}

/** The index of each name, and the entries without a box: unknown names and repeated ones. */
function placesOf(entries: readonly Json[], names: ChoiceField) {
  const known = new Map<string, number>();
  const odd: number[] = [];
  for (const [at, entry] of entries.entries()) {
    const name = meant(names, entry);
    if (name !== null && names.names.includes(name) && !known.has(name)) known.set(name, at);
    else odd.push(at);
  }
  return { known, odd };
}

function OddEntry({ path }: { readonly path: Path }) {
  const value = useValue(path);
  const problems = useProblems(path);
  return (
    <div id={idOf(path)} tabIndex={-1} className="rounded-md border border-line p-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        <span>
          Also listed: <code>{wordOf(value)}</code>
        </span>
        <Button small onClick={() => useDraft.getState().remove(path)}>
          Take it out
        </Button>
      </p>
      <ProblemList problems={problems} id={`${idOf(path)}-fault`} />
    </div>
  );
}

type Ticked = {
  readonly path: Path;
  readonly name: string;
  /** The index of the name; undefined: the list does not have it. */
  readonly at: number | undefined;
  readonly on: boolean;
  readonly isTools: boolean;
};

/** Ticking a tool that needs limits also adds the block of its limits. */
function tick({ path, name, at, on, isTools }: Ticked): void {
  const { document, apply } = useDraft.getState();
  const list = valueAt(document, path);
  const index = isList(list) ? list.length : 0;
  if (!on) {
    if (at !== undefined) apply([{ kind: 'remove', path: [...path, at] }]);
    return;
  }
  const edits: Edit[] = [{ kind: 'insert', list: path, index, value: name }];
  const cage = isTools ? cageOf(name) : null;
  if (cage !== null) {
    const block = [...path.slice(0, -1), cage];
    const isThere = valueAt(document, block) !== undefined && valueAt(document, block) !== null;
    if (!isThere) edits.push({ kind: 'set', path: block, value: startOf(block, document) });
  }
  apply(edits);
}
