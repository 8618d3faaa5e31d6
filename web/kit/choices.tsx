import {
  useEffect,
  useId,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from 'react';
import { inputLook } from './field.tsx';

export type Choice = {
  /** Of all that are offered at once. */
  readonly key: string;
  readonly body: ReactNode;
  readonly run: () => void;
};

/** `title` null: there is only this one group. */
export type ChoiceGroup = { readonly title: string | null; readonly choices: readonly Choice[] };

type Props = {
  /** What the line is called. */
  readonly label: string;
  /** The line to write in, for a caller that gives it the focus. */
  readonly input: RefObject<HTMLInputElement | null>;
  readonly search: string;
  readonly onSearch: (search: string) => void;
  readonly charactersMax?: number;
  readonly groups: readonly ChoiceGroup[];
  /** Something was chosen: comes before it is done. */
  readonly onDone: () => void;
};

/** A line to write in, and what it finds, in a dialog; the arrows choose, Enter does it. */
export function Choices(props: Props) {
  const { label, input, search, onSearch, charactersMax, groups, onDone } = props;
  const id = useId();
  // What is found later does not move the choice to another row.
  const [chosen, setChosen] = useState<string | null>(null);
  const all = groups.flatMap(({ choices }) => choices);
  const at = Math.max(
    0,
    all.findIndex(({ key }) => key === chosen),
  );
  const key = all[at]?.key;
  const run = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    onDone();
    // The dialog gives the focus back first; then what was chosen may move it.
    setTimeout(choice.run, 50);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // It ends a word that an input method puts together.
    if (event.nativeEvent.isComposing) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setChosen(all[(at + step + all.length) % Math.max(1, all.length)]?.key ?? null);
    else if (event.key === 'Enter') run(all[at]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={key === undefined ? undefined : `${id}-${at}`}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        maxLength={charactersMax}
        value={search}
        onChange={(event) => {
          onSearch(event.target.value);
          setChosen(null);
        }}
        onKeyDown={onKeyDown}
        className={inputLook}
      />
      <Offered id={id} groups={groups} chosen={key} onRun={run} />
    </>
  );
}

type OfferedProps = Pick<Props, 'groups'> & {
  readonly id: string;
  /** Its key. */
  readonly chosen: string | undefined;
  readonly onRun: (choice: Choice) => void;
};

function Offered({ id, groups, chosen, onRun }: OfferedProps) {
  const list = useRef<HTMLDivElement>(null);
  const all = groups.flatMap(({ choices }) => choices);
  useEffect(() => {
    if (chosen === undefined) return;
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <div
      ref={list}
      id={`${id}-list`}
      role="listbox"
      aria-label="What is found"
      tabIndex={-1}
      className="max-h-[50vh] overflow-y-auto"
    >
      {groups.map((group) => (
        <Group key={group.title ?? ''} title={group.title}>
          {group.choices.map((choice) => (
            <Option
              key={choice.key}
              id={`${id}-${all.indexOf(choice)}`}
              choice={choice}
              chosen={choice.key === chosen}
              onRun={() => onRun(choice)}
            />
          ))}
        </Group>
      ))}
    </div>
  );
}

function Group({
  title,
  children,
}: {
  readonly title: string | null;
  readonly children: ReactNode;
}) {
  if (title === null) return children;
  return (
    <div role="group" aria-label={title}>
      <p aria-hidden="true" className="px-2 pt-2 pb-0.5 text-xs font-medium text-soft">
        {title}
      </p>
      {children}
    </div>
  );
}

type OptionProps = {
  readonly id: string;
  readonly choice: Choice;
  readonly chosen: boolean;
  readonly onRun: () => void;
};

function Option({ id, choice, chosen, onRun }: OptionProps) {
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      onClick={onRun}
      onKeyDown={(event) => {
        // Assistive technology may give an option the focus itself.
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        onRun();
      }}
      className="flex min-h-7 cursor-default flex-wrap items-baseline gap-x-3 rounded-md px-2 py-1 hover:bg-raised aria-selected:bg-accent-ground forced-colors:aria-selected:border-s-4 forced-colors:aria-selected:border-[Highlight]"
    >
      {choice.body}
    </div>
  );
}

/** A name, and what is said of it behind it. */
export function ChoiceName({ name, note }: { readonly name: ReactNode; readonly note: ReactNode }) {
  return (
    <>
      <span className="min-w-0 break-words">{name}</span>
      <span className="ms-auto text-xs text-soft">{note}</span>
    </>
  );
}
