import { Fragment, type ReactNode } from 'react';

export type Column<Row> = {
  readonly title: string;
  /** Figures are set to the right. */
  readonly number?: boolean;
  readonly cell: (row: Row) => ReactNode;
};

type Props<Row> = {
  /** Read out as the table's name. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Shown instead of rows where there are none. */
  readonly none: ReactNode;
  /** What is shown below a row, over the whole width; null: nothing. */
  readonly renderDetail?: (row: Row) => ReactNode;
};

/**
 * A plain table, for up to some 200 rows. Where there is too little room for many columns, each row
 * is a card, with the column's title before each value.
 */
export function Table<Row>({ name, columns, rows, keyOf, none, renderDetail }: Props<Row>) {
  if (rows.length === 0) return <div className="text-soft">{none}</div>;
  return (
    <div
      role="group"
      aria-label={name}
      tabIndex={0}
      className="@container overflow-x-auto rounded-md border border-line bg-card"
    >
      <table className={`w-full border-collapse text-sm ${widthOf(columns.length)}`}>
        <thead className="text-left text-soft">
          <tr>
            {columns.map(({ title, number }) => (
              <th key={title} scope="col" className={`px-3 py-2 font-medium ${sideOf(number)}`}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={keyOf(row)}>
              <tr className="border-t border-line align-top">
                {columns.map(({ title, number, cell }) => (
                  <td
                    key={title}
                    data-title={title}
                    className={`px-3 py-2 ${nameLook} ${sideOf(number)}`}
                  >
                    {cell(row)}
                  </td>
                ))}
              </tr>
              <Below columns={columns.length}>{renderDetail?.(row)}</Below>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Below({ columns, children }: { readonly columns: number; readonly children: ReactNode }) {
  if (children === null || children === undefined) return null;
  return (
    <tr>
      <td colSpan={columns} className="px-3 pb-3">
        <div className="sticky left-3 w-[calc(100cqw-1.5rem)]">{children}</div>
      </td>
    </tr>
  );
}

/** A name without a gap in it breaks before it takes the room of the other columns. */
const nameLook =
  '[&_bdi]:inline-block [&_bdi]:max-w-[40ch] [&_bdi]:align-top [&_bdi]:break-words ' +
  '[&_a_bdi]:underline [&_s_bdi]:line-through';

/** Many columns become cards; between, they are scrolled to: broken words are worse to read. */
const widthOf = (columns: number): string =>
  columns > 3 ? 'as-cards @min-[36rem]:min-w-[44rem]' : '';

const sideOf = (number = false): string => (number ? 'text-right tabular-nums' : '');
