import { Button } from '../../kit/button.tsx';
import type { Path } from '../../../src/config/edit/path.ts';
import { swapEdits } from '../document/channels.ts';
import { useDraft } from '../document/store.ts';
import { idOf, swapOpened } from '../shell/going.ts';

type Props = {
  readonly list: Path;
  readonly at: number;
  /** The indexes of the entries among which it moves, in their order. */
  readonly among: readonly number[];
  /** The name of the entry, for screen readers. */
  readonly name: string;
  readonly onDone: (said: string) => void;
};

/** Buttons that move an entry of a list up or down, or remove it. */
export function Moves({ list, at, among, name, onDone }: Props) {
  const place = among.indexOf(at);
  const idAt = (index: number, way: string): string => `${idOf([...list, index])}-${way}`;
  const move = (step: 1 | -1): void => {
    const to = among[place + step];
    if (to === undefined || !useDraft.getState().apply(swapEdits(list, at, to))) return;
    swapOpened([...list, at], [...list, to]);
    onDone(`${name} is ${place + step + 1} of ${among.length} now.`);
    // The focus stays with the entry, so that the next press moves the same one.
    requestAnimationFrame(() => {
      const ways = step < 0 ? ['up', 'down'] : ['down', 'up'];
      const buttons = ways.map((way) => document.getElementById(idAt(to, way)));
      buttons.find((one) => one?.matches(':enabled'))?.focus();
    });
  };
  const remove = (): void => {
    if (!useDraft.getState().remove([...list, at])) return;
    onDone(`${name} is removed; undo brings it back.`);
  };
  return (
    <span className="flex shrink-0">
      <Button
        id={idAt(at, 'up')}
        kind="quiet"
        small
        disabled={place <= 0}
        aria-label={`Move ${name} up`}
        title="Up"
        onClick={() => move(-1)}
      >
        ↑
      </Button>
      <Button
        id={idAt(at, 'down')}
        kind="quiet"
        small
        disabled={place === among.length - 1}
        aria-label={`Move ${name} down`}
        title="Down"
        onClick={() => move(1)}
      >
        ↓
      </Button>
      <Button kind="quiet" small aria-label={`Remove ${name}`} title="Remove" onClick={remove}>
        ✕
      </Button>
    </span>
  );
}
