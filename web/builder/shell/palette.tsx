import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { inputLook } from '../../kit/field.tsx';
import { commands, found, type Command } from './commands.ts';

const shownMax = 50;

type Props = {
  readonly onDone: () => void;
  /** The line to write in, for a caller that gives it the focus. */
  readonly input: RefObject<HTMLInputElement | null>;
};

/** A line to write in, and what it finds; the arrows choose, Enter does it. */
export function Palette({ onDone, input }: Props) {
  const all = useMemo(() => commands(), []);
  const [search, setSearch] = useState('');
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const rows = found(all, search).slice(0, shownMax);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  });
  const run = (row: Command | undefined): void => {
    if (row === undefined) return;
    onDone();
    // The dialog gives the focus back first; then the command may move it.
    setTimeout(row.run, 50);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setChosen((chosen + step + rows.length) % Math.max(1, rows.length));
    else if (event.key === 'Enter') run(rows[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label="Go to, or do"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={rows[chosen] === undefined ? undefined : `palette-${chosen}`}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        value={search}
        onChange={(event) => {
          setSearch(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
        className={inputLook}
      />
      <div
        ref={list}
        id="palette-list"
        role="listbox"
        aria-label="What is found"
        tabIndex={-1}
        className="max-h-[50vh] overflow-y-auto"
      >
        {rows.map((row, at) => (
          <Option
            key={row.name + row.note}
            id={`palette-${at}`}
            row={row}
            chosen={at === chosen}
            onRun={() => run(row)}
          />
        ))}
      </div>
      {rows.length === 0 ? <p className="text-sm text-soft">Nothing is called so.</p> : null}
    </div>
  );
}

type OptionProps = {
  readonly id: string;
  readonly row: Command;
  readonly chosen: boolean;
  readonly onRun: () => void;
};

function Option({ id, row, chosen, onRun }: OptionProps) {
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      onClick={onRun}
      onKeyDown={undefined}
      className="flex cursor-default flex-wrap items-baseline gap-x-3 rounded-md px-2 py-1 hover:bg-raised aria-selected:bg-accent-ground forced-colors:aria-selected:border-s-4 forced-colors:aria-selected:border-[Highlight]"
    >
      <span className="min-w-0 break-words">{row.name}</span>
      <span className="ms-auto text-xs text-soft">{row.note}</span>
    </div>
  );
}
