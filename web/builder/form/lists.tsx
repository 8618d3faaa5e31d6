import type { ReactNode } from 'react';
import type { ListField } from '../../../src/config/field.ts';
import { Button } from '../../kit/button.tsx';
import { inputLook } from '../../kit/field.tsx';
import { textOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { isList, wordOf } from '../document/value.ts';
import { announce } from '../shell/announce.tsx';
import { idOf } from '../shell/going.ts';
import { useProblems, useValue } from './at.ts';
import { Moves } from './moves.tsx';
import { aboutOf, Row, type InputProps } from './row.tsx';
import { ProblemList } from './problem-list.tsx';
import { keyOf, labelOf, singleOf } from './words.tsx';

type Props = InputProps<ListField> & {
  /** Other ways to add an entry. */
  readonly offers?: ReactNode;
};

/** A list of texts: a line for each, with buttons to move and remove it. */
export function TextList({ path, field, required, offers }: Props) {
  const value = useValue(path);
  const problems = useProblems(path);
  const single = singleOf(keyOf(path));
  const entries = isList(value) ? value : null;
  const add = (): void => {
    const start = entries ?? field.default ?? [];
    const next = [...start, ''];
    const draft = useDraft.getState();
    if (entries === null) draft.edit(path, next);
    else draft.insert(path, entries.length, '');
    requestAnimationFrame(() => document.getElementById(idOf([...path, start.length]))?.focus());
  };
  const canLeave = entries !== null && !required;
  return (
    <Row path={path} field={field} required={required} problems={problems} group>
      {entries?.map((_, at) => (
        // The index identifies an entry: its text changes while a person types.
        // oxlint-disable-next-line react/no-array-index-key
        <Entry key={at} path={path} at={at} of={entries.length} single={single} />
      ))}
      {entries?.length === 0 && problems.length === 0 ? (
        <p className="text-sm">The list is empty.</p>
      ) : null}
      {offers}
      <div className="flex flex-wrap gap-1.5">
        <Button id={idOf(path)} small onClick={add}>
          Add {/^[aeio]/.test(single) ? 'an' : 'a'} {single}
        </Button>
        {canLeave ? (
          <Button small kind="quiet" onClick={() => useDraft.getState().remove(path)}>
            Leave it out
          </Button>
        ) : null}
        {entries === null && !required && (field.itemsMin ?? 0) === 0 ? (
          <Button small kind="quiet" onClick={() => useDraft.getState().edit(path, [])}>
            Make it empty
          </Button>
        ) : null}
      </div>
    </Row>
  );
}

type EntryProps = {
  readonly path: InputProps['path'];
  readonly at: number;
  readonly of: number;
  readonly single: string;
};

function Entry({ path, at, of, single }: EntryProps) {
  const here = [...path, at];
  const value = useValue(here);
  const problems = useProblems(here);
  const about = aboutOf(here, problems);
  const name = `${labelOf(keyOf(path))} ${at + 1}`;
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center gap-1">
        <input
          {...about}
          aria-describedby={problems.length === 0 ? undefined : `${idOf(here)}-fault`}
          aria-label={name}
          type="text"
          autoComplete="off"
          spellCheck={false}
          value={wordOf(value)}
          onChange={(event) => useDraft.getState().edit(here, event.target.value, textOf(here))}
          className={inputLook}
        />
        <Moves
          list={path}
          at={at}
          among={[...Array(of).keys()]}
          name={`${single} ${at + 1}`}
          onDone={(said) => announce(said)}
        />
      </div>
      <ProblemList problems={problems} id={`${idOf(here)}-fault`} />
    </div>
  );
}
