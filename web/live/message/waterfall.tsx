import type { Row } from '../../../src/domain/timeline.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { length } from '../../kit/words.ts';
import { clockOf, type Clock } from './clock.ts';

type Props = { readonly rows: readonly Row[]; readonly endMs: number };

/** The parts of a message's story, each at its position on one time axis. */
export function Waterfall({ rows, endMs }: Props) {
  const clock = clockOf(rows, endMs);
  return (
    <div className="rounded-md border border-line bg-card py-2 text-sm">
      <div aria-hidden="true" className={`${line} hidden text-soft sm:grid`}>
        <span className="text-right">at</span>
        <span className="text-right">for</span>
        <span />
        <Axis clock={clock} />
      </div>
      <ol aria-label="What happened, in order">
        {rows.map((row, index) => (
          // Rows have no unique name, and their order never changes.
          // oxlint-disable-next-line react/no-array-index-key
          <Line key={index} row={row} clock={clock} />
        ))}
      </ol>
      {clock.cuts.length > 0 ? (
        <p className="px-3 pt-2 text-soft">
          A broken line is a wait that is drawn shorter than it was.
        </p>
      ) : null}
    </div>
  );
}

const line =
  'grid grid-cols-[4rem_4rem_minmax(0,1fr)] items-center gap-x-3 px-3 ' +
  'sm:grid-cols-[4.5rem_4.5rem_minmax(0,1fr)_minmax(8rem,1.1fr)]';

function Axis({ clock }: { readonly clock: Clock }) {
  return (
    <span className="relative h-5">
      {clock.ticks.map((ms, index) => (
        <span
          key={ms}
          className={`absolute whitespace-nowrap ${tickSide(index, clock.ticks.length)}`}
          style={{ left: `${clock.at(ms)}%` }}
        >
          {ms === 0 ? '0' : index % 2 === 0 || clock.ticks.length === 2 ? length(ms) : ''}
        </span>
      ))}
    </span>
  );
}

function tickSide(index: number, ticks: number): string {
  if (index === 0) return '';
  return index === ticks - 1 ? '-translate-x-full' : '-translate-x-1/2';
}

function Line({ row, clock }: { readonly row: Row; readonly clock: Clock }) {
  const { atMs, forMs, what, deep, ended, part } = row;
  const tone = part === 'unexplained' ? 'text-soft italic' : ended === 'badly' ? 'text-bad' : '';
  return (
    <li className={`${line} py-1 hover:bg-raised sm:py-0.5`}>
      <span className="text-right text-soft tabular-nums max-sm:order-2">
        <span className="sr-only">at </span>
        {atMs === 0 ? '0' : length(atMs)}
      </span>
      <span className="text-right tabular-nums max-sm:order-2">
        {forMs === null ? null : (
          <>
            <span className="sr-only">for </span>
            {length(forMs)}
          </>
        )}
      </span>
      <span
        className={`min-w-0 wrap-anywhere max-sm:col-span-3 ${deep ? 'ps-4 text-soft' : ''} ${tone}`}
      >
        {ended === 'badly' ? <span aria-hidden="true">✕ </span> : null}
        <AsWritten text={what} />
      </span>
      <span aria-hidden="true" className="relative h-5 max-sm:order-2 sm:border-x sm:border-line">
        <Bar row={row} clock={clock} />
      </span>
    </li>
  );
}

function Bar({ row, clock }: { readonly row: Row; readonly clock: Clock }) {
  const { atMs, forMs, deep } = row;
  const left = clock.at(atMs);
  if (forMs === null) {
    if (deep) return null;
    return (
      <span
        className="absolute top-1/2 size-2 -translate-x-1/2 -translate-y-1/2 rotate-45 bg-edge forced-colors:bg-[CanvasText]"
        style={{ left: `${left}%` }}
      />
    );
  }
  const isCut = clock.cuts.some(({ fromMs, toMs }) => atMs < toMs && atMs + forMs > fromMs);
  return (
    <span
      className={`absolute top-1/2 -translate-y-1/2 rounded-[2px] border ${lookOf(row, isCut)}`}
      style={{
        left: `${left}%`,
        width: `max(3px, ${clock.at(atMs + forMs) - left}%)`,
        height: deep ? '30%' : '60%',
      }}
    />
  );
}

function lookOf({ part, ended }: Row, isCut: boolean): string {
  if (part === 'unexplained') return 'border-dashed border-edge bg-transparent';
  if (part === 'wait') return `bg-raised border-edge ${isCut ? 'border-dashed' : ''}`;
  const ground = 'forced-colors:bg-[CanvasText]';
  if (ended === 'badly') return `border-bad bg-bad ${ground}`;
  if (ended === 'well') return `border-accent bg-accent ${ground}`;
  return `border-edge bg-edge ${ground}`;
}
