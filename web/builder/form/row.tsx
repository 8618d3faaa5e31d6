/** The row of an input in a form: label, description and problems. */
import type { ReactNode } from 'react';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import type { Field } from '../../../src/config/field.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { idOf } from '../shell/going.ts';
import { useProblems } from './at.ts';
import { hintOf, keyOf, labelOf, sentence } from './words.tsx';
import { ProblemList } from './problem-list.tsx';

/** Props of every input of a form. */
export type InputProps<F extends Field = Field> = {
  readonly path: Path;
  readonly field: F;
  /** True also if a condition requires the field. */
  readonly required: boolean;
  /** The one value that a condition allows. */
  readonly only?: string | undefined;
};

type Props = {
  readonly path: Path;
  readonly field: Field;
  readonly required: boolean;
  readonly problems: readonly ConfigProblem[];
  /** Content beside the label: a badge, a button. */
  readonly aside?: ReactNode;
  /** Replaces the schema's description. */
  readonly hint?: ReactNode;
  /** True: the children are several inputs, and the label names their group. */
  readonly group?: boolean;
  readonly children: ReactNode;
};

/** A label with the field's own name, the input, its description, and its problems. */
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
      <ProblemList problems={problems} id={`${id}-fault`} />
    </div>
  );
}

type HeadingProps = Pick<Props, 'path' | 'field' | 'required' | 'aside'>;

/** The heading of a block or a list: its label and own name, its description, its problems. */
export function Heading({ path, field, required, aside }: HeadingProps) {
  const problems = useProblems(path);
  const id = idOf(path);
  const key = keyOf(path);
  return (
    <>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <h3 id={`${id}-label`} className="font-semibold">
          {labelOf(key)}{' '}
          {required ? <span className="font-normal text-soft">(required)</span> : null}
        </h3>
        <code className="text-soft">{key}</code>
        <span className="ms-auto">{aside}</span>
      </div>
      <p id={`${id}-hint`} className="text-sm text-soft">
        {sentence(field.description)}
      </p>
      <ProblemList problems={problems} id={`${id}-fault`} />
    </>
  );
}

/** ARIA attributes that tie an input to its description and problems. */
export function aboutOf(path: Path, problems: readonly ConfigProblem[]) {
  const id = idOf(path);
  const isWrong = problems.some(({ severity }) => severity === 'error');
  return {
    id,
    'aria-describedby': problems.length === 0 ? `${id}-hint` : `${id}-hint ${id}-fault`,
    'aria-invalid': isWrong ? true : undefined,
  };
}
