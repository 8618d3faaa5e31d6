import { channelTypes } from '../../../src/channels/registry.ts';
import { choiceOf } from '../document/choice-words.ts';
import { channelsOf } from '../document/starts.ts';
import { Button } from '../../kit/button.tsx';
import { useDraft } from '../document/store.ts';
import { addChannel, addTo } from './actions.ts';
import { change } from './doing.ts';
import { entriesOf } from './reading.ts';

/** Buttons that add a part and select it, so that its form is one step away. */
export function Adding() {
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const selection = useDraft((state) => state.selection);
  const taken = channelsOf(document);
  const channels = entriesOf(document, ['channels']).length;
  const brains = entriesOf(document, ['brains']).length;
  const brain = selection[0] === 'brains' ? selection.slice(0, 2) : null;
  const models = brain === null ? 0 : entriesOf(document, [...brain, 'models']).length;
  const add = (chosen: string): void => {
    const type = channelTypes.find((one) => one === chosen);
    if (type === undefined) return;
    change((now) => addChannel(now, type), { select: ['channels', channels] });
  };
  return (
    <>
      <select
        aria-label="Add a channel"
        disabled={!readable}
        value=""
        onChange={({ target }) => add(target.value)}
        className="min-h-7 w-28 rounded-md border border-edge bg-card px-2 text-sm font-medium text-ink disabled:text-soft"
      >
        <option value="" disabled hidden>
          + Channel
        </option>
        {channelTypes.map((type) => (
          <option key={type} value={type}>
            {taken.includes(type) ? `another ${choiceOf(type)}` : choiceOf(type)}
          </option>
        ))}
      </select>
      <Button
        small
        disabled={!readable}
        onClick={() => change((now) => addTo(now, ['brains']), { select: ['brains', brains] })}
      >
        + Brain
      </Button>
      <Button
        small
        disabled={!readable || brain === null}
        title={brain === null ? 'Choose the brain that is to ask it first.' : undefined}
        onClick={() =>
          brain === null
            ? undefined
            : change((now) => addTo(now, [...brain, 'models']), {
                select: [...brain, 'models', models],
              })
        }
      >
        + Model
      </Button>
    </>
  );
}
