import { formatModelName } from '../../../src/domain/model-words.ts';
import { channelName } from '../../../src/channels/registry.ts';
import { useEffect, useLayoutEffect, useRef, type HTMLAttributes } from 'react';
import { useVirtualizer } from '@tanstack/react-virtual';
import type { MessageRow } from '../../../src/domain/records.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { useKept, useKeptThing } from '../../kit/entry.ts';
import { Link } from '../../kit/link.tsx';
import { State } from '../../kit/state.tsx';
import { length, longDate, moment, shortDate, timeOfDay, timeZone } from '../../kit/words.ts';
import { useToken } from '../../kit/token.ts';
import { ConversationOf, SenderOf } from '../links/conversation-of.tsx';
import { useKeys } from '../use-keys.ts';
import { useMedia } from '../use-media.ts';
import { useLine, useLines } from './lines.ts';
import { fateOf } from './message-words.ts';

type Props = {
  /** The name under which the list's scroll position is kept. */
  readonly name: string;
  readonly rows: readonly MessageRow[];
  /** When it increases, the list scrolls to its top. */
  readonly jumps: number;
  /** Event handlers that notice when a person uses the rows. */
  readonly hands: HTMLAttributes<HTMLElement>;
  /** Called when the person leaves the top of the list, or returns to it. */
  readonly onTop: (isThere: boolean) => void;
  /** Called near the end of the list. */
  readonly onEnd: () => void;
};

const heights = { wide: 36, narrow: 60, line: 24 } as const;
/** The number of remaining rows that counts as near the end. */
const nearRows = 20;

/** A table that renders only the visible rows of a list of any length. */
export function MessageTable({ name, rows, jumps, hands, onTop, onEnd }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const isWide = useMedia('(min-width: 40rem)');
  const { isOn: hasLines } = useLines();
  const rowHeight = (isWide ? heights.wide : heights.narrow) + (hasLines ? heights.line : 0);
  // The virtualizer changes between renders, and no compiler memoizes it here.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]!.id,
    overscan: 10,
  });
  const heightBefore = useRef(rowHeight);
  useLayoutEffect(() => {
    virtual.measure();
    // The same row stays at the top.
    if (scroller.current !== null) scroller.current.scrollTop *= rowHeight / heightBefore.current;
    heightBefore.current = rowHeight;
  }, [virtual, rowHeight]);
  const seen = useKeptThing(`seen ${name}`, () => ({ scrollPx: 0 }));
  useLayoutEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = seen.scrollPx;
  }, [seen]);
  useEffect(() => {
    if (jumps > 0 && scroller.current !== null) scroller.current.scrollTop = 0;
  }, [jumps]);
  const { setCurrent, isWanted } = useSteps(name, rows, (index) => virtual.scrollToIndex(index));
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  const top = rows[virtual.range?.startIndex ?? 0];
  const nearEnd = rows.length - lastSeen < nearRows;
  useEffect(() => {
    if (nearEnd) onEnd();
  }, [nearEnd, onEnd, rows.length]);
  return (
    <>
      <p className="-mb-1 flex flex-wrap justify-between gap-x-3 text-sm text-soft">
        <span>{top === undefined ? null : longDate(top.acceptedAt)}</span>
        <span>{`Times in ${timeZone}`}</span>
      </p>
      <div role="table" aria-label="Messages" aria-rowcount={rows.length + 1}>
        <Head />
        <div
          ref={scroller}
          role="rowgroup"
          aria-label="Rows"
          className="max-h-[max(20rem,calc(100dvh-19.5rem))] min-h-24 overflow-y-auto rounded-b-md border [scrollbar-gutter:stable] max-sm:rounded-t-md sm:border-t-0 border-line bg-card"
          {...hands}
          onScroll={({ currentTarget: { scrollTop } }) => {
            seen.scrollPx = scrollTop;
            onTop(scrollTop < rowHeight);
          }}
        >
          <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
            {items.map(({ index, start, key }) => (
              <Row
                key={key}
                row={rows[index]!}
                newer={rows[index - 1]}
                index={index}
                topPx={start}
                heightPx={rowHeight}
                isWanted={isWanted(rows[index]!.id)}
                onCurrent={setCurrent}
              />
            ))}
          </div>
        </div>
      </div>
    </>
  );
}

/** `j` and `k` move between rows; without a current row, to the first. */
function useSteps(name: string, rows: readonly MessageRow[], scrollTo: (index: number) => void) {
  const [current, setCurrent] = useKept<string | null>(`current ${name}`, null);
  const wanted = useRef<string | null>(null);
  const step = (by: number): void => {
    const before = rows.findIndex(({ id }) => id === current);
    const index = Math.min(Math.max(before === -1 ? 0 : before + by, 0), rows.length - 1);
    const row = rows[index];
    if (row === undefined) return;
    wanted.current = row.id;
    setCurrent(row.id);
    scrollTo(index);
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
  /** Only once: a row that scrolls out and in again must not take the focus. */
  const isWanted = (id: string) => (): boolean => {
    if (wanted.current !== id) return false;
    wanted.current = null;
    return true;
  };
  return { setCurrent, isWanted };
}

/** Class names must be whole strings: a name that is joined at run time gets no style. */
const grid = 'grid items-center gap-x-3 px-3 grid-cols-[minmax(0,1fr)_auto] ';
const columns =
  grid +
  'sm:grid-cols-[6rem_minmax(9rem,1.2fr)_minmax(0,1fr)_minmax(0,1fr)_5rem] ' +
  'lg:grid-cols-[6rem_minmax(10rem,1fr)_minmax(0,0.8fr)_minmax(0,0.8fr)_minmax(0,1.4fr)_6rem]';
/** With the sender and the conversation. */
const operatorColumns =
  grid +
  'sm:grid-cols-[6rem_minmax(9rem,1.2fr)_minmax(0,1fr)_minmax(0,1fr)_5rem] ' +
  'lg:grid-cols-[6rem_minmax(12.5rem,1.2fr)_repeat(4,minmax(0,1fr))_minmax(0,1.3fr)_5rem]';

const useColumns = (): string =>
  useToken(({ token }) => token !== null) ? operatorColumns : columns;

function Head() {
  const isOperator = useToken(({ token }) => token !== null);
  const { isOn: hasLines } = useLines();
  const hidden = isOperator ? 'max-lg:hidden' : '';
  const titles = [
    ['Accepted', ''],
    ['Outcome', ''],
    ...(isOperator ? [['From', ''] as const, ['Conversation', ''] as const] : []),
    ['Channel', hidden],
    ['Brain', hidden],
    ['Answer by', 'max-lg:hidden'],
    ['In all', 'text-right'],
    ...(hasLines ? [['What was said', 'sr-only'] as const] : []),
  ] as const;
  return (
    <div
      role="rowgroup"
      className="rounded-t-md border border-line overflow-hidden bg-card [scrollbar-gutter:stable] text-sm text-soft max-sm:sr-only"
    >
      <div role="row" aria-rowindex={1} className={useColumns()}>
        {titles.map(([title, more]) => (
          <span key={title} role="columnheader" className={`py-2 font-medium ${more}`}>
            {title}
          </span>
        ))}
      </div>
    </div>
  );
}

type RowProps = {
  readonly row: MessageRow;
  /** The row above it. */
  readonly newer: MessageRow | undefined;
  readonly index: number;
  readonly topPx: number;
  readonly heightPx: number;
  readonly isWanted: () => boolean;
  readonly onCurrent: (id: string) => void;
};

function Row({ row, newer, index, topPx, heightPx, isWanted, onCurrent }: RowProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isWanted()) place.current?.querySelector('a')?.focus({ preventScroll: true });
  });
  const [tone, fate] = fateOf(row);
  const at = row.acceptedAt;
  const isToday = moment(at) === timeOfDay(at);
  const beginsDay = newer !== undefined && longDate(newer.acceptedAt) !== longDate(at);
  const isOperator = useToken(({ token }) => token !== null);
  const { isOn: hasLine } = useLines();
  return (
    <div
      ref={place}
      role="row"
      aria-rowindex={index + 2}
      className={`${useColumns()} absolute inset-x-0 content-center border-t text-sm first:border-t-0 focus-within:bg-accent-ground hover:bg-raised ${beginsDay ? 'border-edge' : 'border-line'}`}
      style={{ transform: `translateY(${topPx}px)`, height: heightPx }}
      onFocus={() => onCurrent(row.id)}
    >
      <span role="cell" className="leading-4 max-sm:order-2 max-sm:text-right">
        {beginsDay ? (
          <span className="text-xs text-soft sm:block max-sm:me-2">{shortDate(at)}</span>
        ) : null}
        <Link
          to={{ view: 'message', id: row.id }}
          className="tabular-nums after:absolute after:inset-0"
        >
          {isToday ? null : <span className="sr-only">{`${shortDate(at)}, `}</span>}
          {timeOfDay(at)}
        </Link>
      </span>
      <span role="cell" className="truncate max-sm:order-1">
        <State tone={tone}>{fate}</State>
      </span>
      {isOperator ? (
        <>
          <span role="cell" className="truncate max-sm:order-3">
            <SenderOf message={row.id} />
          </span>
          <span role="cell" className="truncate max-sm:hidden">
            {/* Above the link of the whole row. */}
            <ConversationOf message={row.id} className="relative z-10" />
          </span>
        </>
      ) : null}
      <span role="cell" className={`truncate ${isOperator ? 'max-lg:hidden' : 'max-sm:order-3'}`}>
        {channelName(row.channel)}
      </span>
      <span role="cell" className={`truncate ${isOperator ? 'max-lg:hidden' : 'max-sm:hidden'}`}>
        {row.brain === null ? '–' : <AsWritten text={row.brain} />}
      </span>
      <span role="cell" className="truncate max-lg:hidden">
        {row.model === null ? '–' : <AsWritten text={formatModelName(row.model)} />}
      </span>
      <span role="cell" className="text-right tabular-nums max-sm:order-4">
        {length(row.totalMs)}
      </span>
      {hasLine ? <Line message={row.id} /> : null}
    </div>
  );
}

/** The beginning of what was said, below the other cells. */
function Line({ message }: { readonly message: string }) {
  const line = useLine(message);
  const instead = line === undefined ? '…' : line === null ? 'not kept' : 'no words';
  return (
    <span role="cell" className="col-span-full truncate max-sm:order-5 sm:col-start-2">
      {line?.line ? <AsWritten text={line.line} /> : <span className="text-soft">{instead}</span>}
    </span>
  );
}
