import { useMemo, useState, type RefObject } from 'react';
import { ChoiceName, Choices } from '../../kit/choices.tsx';
import { commands, found } from './commands.ts';

const shownMax = 50;

type Props = {
  readonly onDone: () => void;
  /** The line to write in, for a caller that gives it the focus. */
  readonly input: RefObject<HTMLInputElement | null>;
};

/** Every place of the draft, and what can be done to it. */
export function Palette({ onDone, input }: Props) {
  const all = useMemo(() => commands(), []);
  const [search, setSearch] = useState('');
  const choices = found(all, search)
    .slice(0, shownMax)
    .map(({ name, note, run }) => {
      return { key: name + note, run, body: <ChoiceName name={name} note={note} /> };
    });
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <Choices
        label="Go to, or do"
        input={input}
        search={search}
        onSearch={setSearch}
        groups={[{ title: null, choices }]}
        onDone={onDone}
      />
      {choices.length === 0 ? <p className="text-sm text-soft">Nothing is called so.</p> : null}
    </div>
  );
}
