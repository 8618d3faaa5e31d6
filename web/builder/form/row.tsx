import type { ReactNode } from 'react';
import type { ConfigProblem } from '../../../src/config/config.ts';
import type { Field } from '../../../src/config/field.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { idOf } from '../shell/going.ts';
import { hintOf, keyOf, labelOf } from './words.tsx';
import { ToldList } from './told.tsx';

/** What every input of a form is given. */
export type InputProps<F extends Field = Field> = {
  readonly path: Path;
  readonly field: F;
  /** True also where only a condition asks for the field. */
  readonly required: boolean;
  /** The one value that a condition lets it have. */
  readonly only?: string | undefined;
};

type Props = {
  readonly path: Path;
  readonly field: Field;
  readonly required: boolean;
  readonly problems: readonly ConfigProblem[];
  /** Beside the label: a badge, a button. */
  readonly aside?: ReactNode;
  /** Replaces the words of the schema. */
  readonly hint?: ReactNode;
  /** The children are several inputs: the label names the group of them. */
  readonly group?: boolean;
  readonly children: ReactNode;
};

/** A label with the field's own name, the input, what it means, and what is wrong with it. */
export function Row(props: Props) {
  const { path, field, required, problems, aside, group = false, children } = props;
  const id = idOf(path);
  const key = keyOf(path);
  const name = (
    <>
      {labelOf(key)} {required ? <span className="text-soft">(required)</span> : null}
    </>
  );
  return (
    <div
      role={group ? 'group' : undefined}
      aria-labelledby={group ? `${id}-label` : undefined}
      className="flex min-w-0 flex-col gap-1"
    >
      <div className="flex flex-wrap items-baseline gap-x-2">
        {group ? (
          <span id={`${id}-label`} className="font-medium">
            {name}
          </span>
        ) : (
          <label htmlFor={id} className="font-medium">
            {name}
          </label>
        )}
        <code className="text-soft">{key}</code>
        <span className="ms-auto">{aside}</span>
      </div>
      {children}
      <p id={`${id}-hint`} className="text-sm text-soft">
        {props.hint ?? hintOf(field)}
      </p>
      <ToldList problems={problems} id={`${id}-fault`} />
    </div>
  );
}

/** What reads an input out together with its sentences. */
export function aboutOf(path: Path, problems: readonly ConfigProblem[]) {
  const id = idOf(path);
  const isWrong = problems.some(({ severity }) => severity === 'error');
  return {
    id,
    'aria-describedby': problems.length === 0 ? `${id}-hint` : `${id}-hint ${id}-fault`,
    'aria-invalid': isWrong ? true : undefined,
  };
}
