import { type ReactNode } from 'react';
import type { ObjectField } from '../../../src/config/field.ts';
import { Button } from '../../kit/button.tsx';
import { startOf } from '../document/starts.ts';
import { useDraft } from '../document/store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { wordOf } from '../document/value.ts';
import { announce } from '../shell/announce.tsx';
import { idOf, leadTo } from '../shell/going.ts';
import { useValue } from './at.ts';
import { Heading, type InputProps } from './row.tsx';
import { keyOf, labelOf } from './words.tsx';

type Props = InputProps<ObjectField> & { readonly children: ReactNode };

/**
 * An object inside another: its fields under a heading, or a button to add it. It is no landmark of
 * the page, since several entries of a list have a block of that name.
 */
export function Block({ path, field, required, children }: Props) {
  const value = useValue(path);
  const key = keyOf(path);
  const id = idOf(path);
  const isThere = isObject(value);
  const isOdd = !isThere && value !== undefined && value !== null;
  const add = (): void => {
    const draft = useDraft.getState();
    if (!draft.edit(path, startOf(path, draft.document))) return;
    announce(`${labelOf(key)} added.`);
    leadTo(path);
  };
  const remove = (): void => {
    if (!useDraft.getState().remove(path)) return;
    announce(`${labelOf(key)} removed; undo brings it back.`);
    leadTo(path);
  };
  return (
    <div
      role="group"
      aria-labelledby={`${id}-label`}
      className="flex min-w-0 flex-col gap-3 rounded-lg border border-line p-3"
    >
      <Heading
        {...{ path, field, required }}
        aside={
          value === undefined || value === null || required ? null : (
            <Button small kind="quiet" aria-label={`Remove ${labelOf(key)}`} onClick={remove}>
              Remove
            </Button>
          )
        }
      />
      {isOdd ? (
        <p className="text-sm">
          It holds <code>{wordOf(value)}</code>.
        </p>
      ) : null}
      {isThere ? (
        <div id={id} tabIndex={-1} className="outline-none">
          {children}
        </div>
      ) : (
        <div>
          <Button id={id} small aria-describedby={`${id}-hint`} onClick={add}>
            {isOdd ? 'Begin anew' : `Add ${labelOf(key).toLowerCase()}`}
          </Button>
        </div>
      )}
    </div>
  );
}
