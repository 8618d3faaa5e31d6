import type { ComponentType } from 'react';
import type { ListField, ObjectField } from '../../../src/config/field.ts';
import { Button } from '../../kit/button.tsx';
import { pathOf, startsWith, textOf, type Path } from '../../../src/config/edit/path.ts';
import { modelUsesOf } from '../document/privacy-filter.ts';
import { addEntry } from '../document/added.ts';
import { useDraft } from '../document/store.ts';
import { isList } from '../document/value.ts';
import { announce } from '../shell/announce.tsx';
import { goToField, idOf, leadTo, setOpened, useGoing } from '../shell/going.ts';
import { useProblems, useValue } from './at.ts';
import { Moves } from './moves.tsx';
import { Heading, type InputProps } from './row.tsx';
import { ModelUseBadge } from './model-use-badge.tsx';
import { ProblemList } from './problem-list.tsx';
import { entryName, keyOf, singleOf } from './words.tsx';

export type FormProps = { readonly path: Path; readonly field: ObjectField };

type Props = InputProps<ListField> & {
  readonly item: ObjectField;
  /** The component for an entry's fields. */
  readonly form: ComponentType<FormProps>;
};

/** The number of entries that are open at first. */
const openMax = 2;

/** A list of objects: a card for each, with buttons to move and remove it. */
export function Entries({ path, field, required, item, form }: Props) {
  const value = useValue(path);
  const key = keyOf(path);
  const id = idOf(path);
  const entries = isList(value) ? value : [];
  const opensAll = path.length > 1 && entries.length <= openMax;
  const add = (): void => {
    const here = addEntry(path);
    if (here === null) return;
    announce(`A ${singleOf(key)} is added.`);
    leadTo(here);
  };
  return (
    <section aria-labelledby={`${id}-label`} className="flex min-w-0 flex-col gap-2">
      <Heading {...{ path, field, required }} />
      {entries.map((_, at) => (
        <Card
          // The index identifies an entry: its name can change while a person types.
          // oxlint-disable-next-line react/no-array-index-key
          key={at}
          path={[...path, at]}
          among={[...entries.keys()]}
          item={item}
          opens={opensAll}
          form={form}
        />
      ))}
      <div>
        <Button id={id} small onClick={add}>
          Add a {singleOf(key)}
        </Button>
      </div>
    </section>
  );
}

type CardProps = {
  readonly path: Path;
  /** The indexes of the entries among which it can move, in their order. */
  readonly among: readonly number[];
  readonly item: ObjectField;
  readonly opens: boolean;
  readonly form: ComponentType<FormProps>;
  /** Replaces the title that follows from the entry alone. */
  readonly title?: string;
};

/** An entry of a list: a title that opens its fields, and buttons to move and remove it. */
export function Card({ path, among, item, opens, form: Form, title }: CardProps) {
  const open = useGoing((state) => state.opened[textOf(path)]) ?? opens;
  const value = useValue(path);
  const problems = useProblems(path);
  const list = path.slice(0, -1);
  const at = Number(path.at(-1));
  const key = keyOf(path);
  const name = title ?? entryName(key, value ?? null, at);
  const id = idOf(path);
  return (
    <div className="min-w-0 rounded-lg border border-line bg-card">
      <div className="flex min-w-0 items-center justify-end gap-1 px-2 py-1 max-sm:flex-wrap">
        <button
          id={id}
          type="button"
          aria-expanded={open}
          onClick={() => setOpened(path, !open)}
          className="flex min-h-8 min-w-0 flex-auto items-center gap-x-2 rounded-md px-1 text-start font-medium hover:bg-raised"
        >
          <span aria-hidden="true" className={`text-soft ${open ? 'rotate-90' : ''}`}>
            ›
          </span>
          <span className="flex min-w-0 flex-wrap items-center gap-x-2">
            <span className="min-w-0 wrap-anywhere">{name}</span>
            {key === 'models' ? <ModelMark path={path} /> : null}
            <Faults path={path} />
          </span>
        </button>
        <span className="flex shrink-0 items-center gap-1">
          {path.length === 2 ? (
            <Button small kind="quiet" aria-label={`Open ${name}`} onClick={() => goToField(path)}>
              Open
            </Button>
          ) : null}
          <Moves list={list} at={at} among={among} name={name} onDone={announce} />
        </span>
      </div>
      {open ? (
        <div className="border-t border-line p-3">
          <ProblemList problems={problems} id={`${id}-fault`} />
          <Form path={path} field={item} />
        </div>
      ) : null}
    </div>
  );
}

function ModelMark({ path }: { readonly path: Path }) {
  const brain = useValue(path.slice(0, -2));
  const modelUse = modelUsesOf(brain)[Number(path.at(-1))];
  return modelUse === undefined ? null : <ModelUseBadge modelUse={modelUse} />;
}

/** Shows the number of problems inside. */
function Faults({ path }: { readonly path: Path }) {
  const inside = useDraft((state) => state.problems).filter((problem) => {
    const at = pathOf(problem.path);
    return at.length > 0 && startsWith(at, path);
  });
  if (inside.length === 0) return null;
  const errors = inside.filter(({ severity }) => severity === 'error').length;
  return errors > 0 ? (
    <span className="text-sm text-bad">✗ {errors} to mend</span>
  ) : (
    <span className="text-sm text-wait">! {inside.length} to look at</span>
  );
}
