import { useMemo } from 'react';
import { AsWritten } from './as-written.tsx';
import { diffLines, folded, type DiffLine } from './line-diff.ts';
import { some } from './words.ts';

const around = 3;
const rowsMax = 2_000;

const looks: Readonly<Record<DiffLine['kind'], string>> = {
  same: '',
  added: 'bg-good-ground',
  removed: 'bg-bad-ground',
};
const marks: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', added: '+', removed: '−' };

type Props = {
  /** The name for screen readers. */
  readonly name: string;
  readonly before: string;
  readonly after: string;
};

/** Two texts line by line: removed lines, added lines, and a few lines around them. */
export function Diff({ name, before, after }: Props) {
  const rows = useMemo(() => folded(diffLines(before, after), around), [before, after]);
  if (rows.every(({ kind }) => kind === 'gap')) {
    return <p className="text-soft">The texts are the same, line by line.</p>;
  }
  return (
    <div
      role="group"
      aria-label={name}
      tabIndex={0}
      className="max-h-[70vh] overflow-auto rounded-md border border-line bg-card"
    >
      <table className="w-full border-collapse font-mono text-[0.8125rem] leading-5">
        <tbody>
          {rows.slice(0, rowsMax).map((row, index) =>
            row.kind === 'gap' ? (
              // oxlint-disable-next-line react/no-array-index-key -- rows never move
              <tr key={index} className="bg-raised text-soft">
                <td colSpan={4} className="px-3 py-0.5 font-sans">
                  {some(row.lines, 'line')} the same
                </td>
              </tr>
            ) : (
              // oxlint-disable-next-line react/no-array-index-key -- rows never move
              <Line key={index} line={row} />
            ),
          )}
        </tbody>
      </table>
      {rows.length > rowsMax ? (
        <p className="px-3 py-1 text-soft">{some(rows.length - rowsMax, 'more line')} left out</p>
      ) : null}
    </div>
  );
}

function Line({ line: { kind, text, old, now } }: { readonly line: DiffLine }) {
  const number = 'w-0 px-2 text-right text-soft tabular-nums select-none';
  return (
    <tr className={looks[kind]}>
      <td className={number}>{old}</td>
      <td className={number}>{now}</td>
      <td className="w-0 ps-1 select-none">
        <span aria-hidden="true">{marks[kind]}</span>
        {kind === 'same' ? null : <span className="sr-only">{kind}</span>}
      </td>
      <td className="px-2 whitespace-pre">
        <AsWritten text={text} lines />
      </td>
    </tr>
  );
}
