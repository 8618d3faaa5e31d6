import { Fragment, type ReactNode } from 'react';

export type Column<Row> = {
  readonly title: string;
  /** Numbers are right-aligned. */
  readonly number?: boolean;
  readonly cell: (row: Row) => ReactNode;
};

type Props<Row> = {
  /** The table's name for screen readers. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Shown if there are no rows. */
  readonly none: ReactNode;
  /** Content below a row over the full width; null: none. */
  readonly renderDetail?: (row: Row) => ReactNode;
};

/**
 * A simple table, for up to about 200 rows. If the space is too small for its columns, each row
 * becomes a card with the column's title before each value.
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
              <th key={title} scope="col" className={`px-3 py-1.5 font-medium ${sideOf(number)}`}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={keyOf(row)}>
              <tr className="border-t border-line align-baseline">
                {columns.map(({ title, number, cell }) => (
                  <td
                    key={title}
                    data-title={title}
                    className={`px-3 py-1.5 ${nameLook} ${sideOf(number)}`}
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

/** A name without spaces breaks before it takes the space of other columns. */
const nameLook =
  '[&_bdi]:inline-block [&_bdi]:max-w-[40ch] [&_bdi]:align-top [&_bdi]:break-words ' +
  '[&_a_bdi]:underline [&_s_bdi]:line-through';

/**
 * Tables with many columns become cards. In between they scroll, since broken words are worse to
 * read.
 */
const widthOf = (columns: number): string =>
  columns > 3 ? 'as-cards @min-[36rem]:min-w-[44rem]' : '';

const sideOf = (number = false): string => (number ? 'text-right tabular-nums' : '');
