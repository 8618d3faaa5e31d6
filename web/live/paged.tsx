import type { ReactNode } from 'react';
import { Asking } from '../kit/asking.tsx';
import { Button } from '../kit/button.tsx';
import { some } from '../kit/words.ts';
import type { Pages } from './use-pages.ts';

type Props<Row> = {
  readonly pages: Pages<Row>;
  /** The noun for one row, and its plural: `['use', 'uses']`. */
  readonly words: readonly [string, string];
  readonly children: (rows: readonly Row[]) => ReactNode;
};

/** A list as far as it is loaded, the number of its rows, and a button for older ones. */
export function Paged<Row>({ pages: { rows, refused, older }, words, children }: Props<Row>) {
  return (
    <>
      <Asking value={rows} refused={refused} />
      {rows === null ? null : children(rows)}
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
