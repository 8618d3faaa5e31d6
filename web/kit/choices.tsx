/** A search input with a list of choices, in a dialog. */
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
  /** Unique among all choices. */
  readonly key: string;
  readonly body: ReactNode;
  readonly run: () => void;
};

/** `title` null: there is only this group. */
export type ChoiceGroup = { readonly title: string | null; readonly choices: readonly Choice[] };

type Props = {
  /** The label of the input. */
  readonly label: string;
  /** The input, for a caller that focuses it. */
  readonly input: RefObject<HTMLInputElement | null>;
  readonly search: string;
  readonly onSearch: (search: string) => void;
  readonly charactersMax?: number;
  readonly groups: readonly ChoiceGroup[];
  /** Called before the chosen action runs. */
  readonly onDone: () => void;
};

/** A search input and its results in a dialog. Arrow keys choose, Enter runs the choice. */
export function Choices(props: Props) {
  const { label, input, search, onSearch, charactersMax, groups, onDone } = props;
  const id = useId();
  // Later results do not move the choice to another row.
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
    // The dialog returns the focus first; then the action may move it.
    setTimeout(choice.run, 50);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // This Enter ends a word of an input method.
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
  /** The key of the chosen row. */
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
        // Assistive technology may focus an option itself.
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

/** A name, followed by a note. */
export function ChoiceName({ name, note }: { readonly name: ReactNode; readonly note: ReactNode }) {
  return (
    <>
      <span className="min-w-0 break-words">{name}</span>
      <span className="ms-auto text-xs text-soft">{note}</span>
    </>
  );
}
