import { Button } from '../../kit/button.tsx';
import { Field, inputLook, SelectField, TextField } from '../../kit/field.tsx';
import { Notice } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import type { Path } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { valueAt } from '../document/value.ts';
import { change } from '../graph/doing.ts';
import { entriesOf, textAt } from '../graph/reading.ts';
import { completionsChannel } from '../../../src/domain/ids.ts';
import { titleOfName } from '../document/channels.ts';
import { channelsOf } from '../document/starts.ts';
import { keepCase } from './cases.ts';
import { Cases } from './cases-view.tsx';
import { FromMessage } from './from-message.tsx';
import { CostWarning, paidModels } from './cost.tsx';
import { TrialView } from './trial-view.tsx';
import { attempt, keyOf, nothingAsked, stopAll, useTrials, write, type Asked } from './trials.ts';
import { WhichRoute } from './which-route.tsx';
import { some } from '../../kit/words.ts';
import type { Earlier } from '../../../src/config/test-case.ts';

/** Asks a brain of the draft. The service delivers and stores nothing. */
export function TryView() {
  const document = useDraft((state) => state.document);
  const selection = useDraft((state) => state.selection);
  const brains = entriesOf(document, ['brains']).filter(
    ({ value }) => textAt(value, 'name') !== '',
  );
  const chosen =
    brains.find(({ path }) => selection[0] === 'brains' && selection[1] === path[1]) ?? brains[0];
  if (chosen === undefined) {
    return <p className="p-4 text-soft">There is no brain to try yet.</p>;
  }
  const name = textAt(chosen.value, 'name');
  return (
    <div className="mx-auto flex w-full min-w-0 max-w-4xl flex-col gap-6 p-4">
      <Panel title="Try a brain">
        <p className="text-soft">
          The draft is asked as it stands here. Nothing is delivered or kept, and tools that reach
          out do not run.
        </p>
        <FromMessage />
        <SelectField
          id="try-brain"
          label="Brain"
          value={String(chosen.index)}
          onChange={({ target }) => useDraft.getState().select(['brains', Number(target.value)])}
          options={brains.map(({ index, value }) => ({
            value: String(index),
            label: textAt(value, 'name'),
          }))}
        />
        <Asking key={name} brain={chosen.path} name={name} />
      </Panel>
      <WhichRoute />
      <Cases brain={chosen.path} name={name} />
    </div>
  );
}

type AskingProps = { readonly brain: Path; readonly name: string };

function Asking({ brain, name }: AskingProps) {
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const { text, history, channel, isPrivate } = useTrials(
    ({ asked }) => asked.get(name) ?? nothingAsked,
  );
  const said = { text: text.trim(), history: history.filter(({ asked }) => asked.trim() !== '') };
  const run = useTrials(({ runs }) => runs.get(keyOf(name, said)));
  const paid = isPrivate ? [] : paidModels(document, brain);
  const asking = run?.now.kind === 'asking';
  // Includes trials of other texts: each running trial holds a model, and may cost money.
  const anyAsking = useTrials(({ runs }) => {
    return runs.values().some(({ now }) => now.kind === 'asking');
  });
  const ask = (): void => void attempt({ brain: name, channel, isPrivate, ...said });
  const keep = (): void => void change((now) => keepCase(now, brain, { ...said, note: '' }));
  const canAsk = said.text !== '' && readable && !asking;
  return (
    <>
      <Field
        id="try-text"
        label="What a sender says"
        hint="Kept in this page alone, until you keep it as a test case. Ctrl+Enter asks."
      >
        <textarea
          id="try-text"
          rows={3}
          className={inputLook}
          value={text}
          aria-describedby="try-text-hint"
          onChange={({ target }) => write(name, textOf(target.value))}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && canAsk) ask();
          }}
        />
      </Field>
      <History turns={history} onChange={(turns) => write(name, { history: turns })} />
      <Channel brain={brain} value={channel} onChange={(by) => write(name, { channel: by })} />
      {isPrivate ? <Private /> : null}
      <CostWarning models={paid} />
      <div className="flex flex-wrap gap-2">
        <Button kind="main" disabled={!canAsk} onClick={ask}>
          {paid.length === 0 ? 'Ask the draft' : 'Ask the draft, which may cost money'}
        </Button>
        <Button disabled={said.text === '' || !readable || isPrivate} onClick={keep}>
          Keep as a test case
        </Button>
        {/* Hidden instead of removed, so that a reply does not move while a person reads it. */}
        <Button className={anyAsking ? '' : 'invisible'} onClick={stopAll}>
          Stop
        </Button>
      </div>
      <div aria-live="polite">{run === undefined ? null : <TrialView run={run} />}</div>
    </>
  );
}

/** A private text stays private until the field is empty. */
function textOf(text: string): Partial<Asked> {
  return text === '' ? { text, isPrivate: false } : { text };
}

function Private() {
  return (
    <Notice>
      What is written here was said in private: no model elsewhere is asked, whatever the brain is,
      and it is no test case. Once the field is empty, something else may be written.
    </Notice>
  );
}

/** Selects the channel, since an agent's grants may differ by channel. */
function Channel({
  brain,
  value,
  onChange,
}: {
  readonly brain: Path;
  readonly value: string;
  readonly onChange: (channel: string) => void;
}) {
  const document = useDraft((state) => state.document);
  if (valueAt(document, [...brain, 'agent']) === undefined) return null;
  const offers = document['completions'] === undefined ? [] : [completionsChannel];
  const names = [...new Set(channelsOf(document)), ...offers];
  return (
    <SelectField
      id="try-channel"
      label="As if it came by"
      hint="The grants of an agent may differ by channel."
      value={value}
      onChange={({ target }) => onChange(target.value)}
      options={[
        { value: '', label: 'the channel that is routed to it' },
        ...names.map((name) => ({ value: name, label: titleOfName(document, name) })),
      ]}
    />
  );
}

const turnsMax = 20;

type Props = {
  readonly turns: readonly Earlier[];
  readonly onChange: (turns: readonly Earlier[]) => void;
};

/** Earlier messages of the conversation, oldest first. */
function History({ turns, onChange }: Props) {
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
