import { Button } from '../../kit/button.tsx';
import { TextField } from '../../kit/field.tsx';
import { some } from '../../kit/words.ts';
import type { Earlier } from '../../../src/config/test-case.ts';

const turnsMax = 20;

type Props = {
  readonly turns: readonly Earlier[];
  readonly onChange: (turns: readonly Earlier[]) => void;
};

/** What was said before in the conversation, oldest first. */
export function History({ turns, onChange }: Props) {
  const put = (index: number, turn: Earlier): void => onChange(turns.with(index, turn));
  return (
    <details>
      <summary className="text-sm font-medium">
        {turns.length === 0 ? 'Earlier turns: none' : some(turns.length, 'earlier turn')}
      </summary>
      <div className="mt-2 flex flex-col gap-3">
        {turns.map((turn, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- a turn is where it stands
          <fieldset key={index} className="grid gap-2 sm:grid-cols-[1fr_1fr_auto] sm:items-end">
            <TextField
              id={`asked-${index}`}
              label={`Turn ${index + 1}: the sender`}
              value={turn.asked}
              onChange={({ target }) => put(index, { ...turn, asked: target.value })}
            />
            <TextField
              id={`answered-${index}`}
              label="The reply"
              value={turn.answered}
              onChange={({ target }) => put(index, { ...turn, answered: target.value })}
            />
            <Button
              aria-label={`Remove turn ${index + 1}`}
              onClick={() => onChange(turns.toSpliced(index, 1))}
            >
              Remove
            </Button>
          </fieldset>
        ))}
        <Button
          small
          className="self-start"
          disabled={turns.length >= turnsMax}
          onClick={() => onChange([...turns, { asked: '', answered: '' }])}
        >
          Add an earlier turn
        </Button>
      </div>
    </details>
  );
}
