import { Button } from '../../kit/button.tsx';
import type { Path } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';

type Props = {
  readonly list: Path;
  readonly at: number;
  readonly of: number;
  /** The name of the entry, for screen readers. */
  readonly name: string;
  readonly onDone: (said: string) => void;
};

/** Buttons that move an entry of a list up or down, or remove it. */
export function Moves({ list, at, of, name, onDone }: Props) {
  const move = (to: number): void => {
    if (useDraft.getState().move(list, at, to)) onDone(`${name} is ${to + 1} of ${of} now.`);
  };
  const remove = (): void => {
    if (!useDraft.getState().remove([...list, at])) return;
    onDone(`${name} is removed; undo brings it back.`);
  };
  return (
    <span className="flex shrink-0">
      <Button
        kind="quiet"
        small
        disabled={at === 0}
        aria-label={`Move ${name} up`}
        title="Up"
        onClick={() => move(at - 1)}
      >
        ↑
      </Button>
      <Button
        kind="quiet"
        small
        disabled={at === of - 1}
        aria-label={`Move ${name} down`}
        title="Down"
        onClick={() => move(at + 1)}
      >
        ↓
      </Button>
      <Button kind="quiet" small aria-label={`Remove ${name}`} title="Remove" onClick={remove}>
        ✕
      </Button>
    </span>
  );
}
