import { Button } from '../kit/button.tsx';
import type { Column } from '../kit/table.tsx';

type Opener<Row> = {
  readonly title: string;
  /** The key of the open row; null: none. */
  readonly opened: string | null;
  readonly keyOf: (row: Row) => string;
  /** Text behind "Open" for screen readers. */
  readonly nameOf: (row: Row) => string;
  readonly onOpen: (key: string | null) => void;
};

/** A column with a button that opens the details below a row, one row at a time. */
export function opener<Row>({ title, opened, keyOf, nameOf, onOpen }: Opener<Row>): Column<Row> {
  return {
    title,
    cell: (row) => {
      const key = keyOf(row);
      const isOpen = key === opened;
      const word = isOpen ? 'Close' : 'Open';
      return (
        <Button
          small
          aria-expanded={isOpen}
          aria-label={`${word} ${nameOf(row)}`}
          onClick={() => onOpen(isOpen ? null : key)}
        >
          {word}
        </Button>
      );
    },
  };
}
