import type { ReactNode } from 'react';
import { Button } from '../kit/button.tsx';
import { Refusal } from '../kit/notice.tsx';
import { some } from '../kit/words.ts';
import type { Pages } from './use-pages.ts';

type Props<Row> = {
  readonly pages: Pages<Row>;
  /** The word for one row, and for several: `['use', 'uses']`. */
  readonly words: readonly [string, string];
  readonly children: (rows: readonly Row[]) => ReactNode;
};

/** A list as far as it is read, how much that is, and the way to older rows. */
export function Paged<Row>({ pages: { rows, refused, older }, words, children }: Props<Row>) {
  return (
    <>
      <Refusal refused={refused} />
      {rows === null ? refused === null && <p className="text-soft">Asking …</p> : children(rows)}
      {rows === null || (rows.length === 0 && older === null) ? null : (
        <p className="flex flex-wrap items-center gap-3 text-sm text-soft">
          {some(rows.length, ...words)}
          {older === null ? '.' : ' so far.'}
          {older === null ? null : (
            <Button small onClick={older}>
              Look further back
            </Button>
          )}
        </p>
      )}
    </>
  );
}
