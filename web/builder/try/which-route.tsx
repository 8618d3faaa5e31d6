import { create } from 'zustand';
import { findKind } from '../../../src/channels/registry.ts';
import type { ExplainedVerdict } from '../../../src/domain/explain-route.ts';
import { describeRoute } from '../../../src/domain/routing.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Button } from '../../kit/button.tsx';
import { SelectField, TextField } from '../../kit/field.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useToken } from '../../kit/token.ts';
import { visible } from '../../kit/visible.ts';
import { listedChannels, titleOfName } from '../document/channels.ts';
import { useDraft } from '../document/store.ts';
import { entriesOf, textAt } from '../graph/reading.ts';
import { routedIn } from './routed.ts';
import { write } from './trials.ts';

const nothing = { channel: '', text: '', sender: '', chat: '', topic: '' };

/** What a person typed here; it stays while the page is open. */
const useMessage = create<typeof nothing>(() => nothing);

useToken.subscribe(({ token }) => {
  if (token === null) useMessage.setState(nothing);
});

/** Says which route of the draft a message would take, and which brain answers. Asks no model. */
export function WhichRoute() {
  const document = useDraft((state) => state.document);
  const given = useMessage();
  const channels = listedChannels(document).filter(({ name }) => name !== '');
  const chosen = channels.find(({ name }) => name === given.channel) ?? channels[0];
  if (chosen === undefined) return null;
  const kind = findKind(chosen.type);
  const isMessenger = kind?.isMessenger === true;
  const hasTopics = kind?.topics != null;
  const field = (key: 'text' | 'sender' | 'chat' | 'topic', label: string) => (
    <TextField
      id={`route-${key}`}
      label={label}
      autoComplete="off"
      spellCheck={false}
      value={given[key]}
      onChange={({ target }) => useMessage.setState({ [key]: target.value })}
    />
  );
  return (
    <Panel title="Which brain answers">
      <p className="text-soft">The routes of the draft decide it, and no model is asked.</p>
      <SelectField
        id="route-channel"
        label="Channel of the message"
        value={chosen.name}
        onChange={({ target }) => useMessage.setState({ channel: target.value })}
        options={[...new Set(channels.map(({ name }) => name))].map((name) => ({
          value: name,
          label: titleOfName(document, name),
        }))}
      />
      {field('text', 'Its text')}
      <div className="grid gap-3 sm:grid-cols-3">
        {field('sender', 'Id of its sender')}
        {field('chat', isMessenger ? 'Id of its chat' : 'Id of its conversation')}
        {hasTopics ? field('topic', 'Topic or thread') : null}
      </div>
      <div aria-live="polite">
        <Answer channel={chosen.name} hasTopics={hasTopics} />
      </div>
    </Panel>
  );
}

type AnswerProps = { readonly channel: string; readonly hasTopics: boolean };

function Answer({ channel, hasTopics }: AnswerProps) {
  const document = useDraft((state) => state.document);
  const { text, sender, chat, topic } = useMessage();
  const given = (typed: string): string | null => (typed.trim() === '' ? null : typed.trim());
  const explained = routedIn(document, channel, {
    text: given(text),
    sender: given(sender),
    chat: given(chat),
    topic: hasTopics ? given(topic) : null,
  });
  if (explained === null) return <p>The channel has no route, so svc does not start it.</p>;
  const { taken, isBare, routes } = explained;
  const unknown = routes.some(({ verdict }) => verdict === 'unknown');
  return (
    <div className="flex flex-col gap-2">
      {taken === null ? (
        <p className="font-medium">No route is sure to take it.</p>
      ) : (
        <p className="font-medium wrap-anywhere">
          {visible(describeRoute(taken))} → <AsWritten text={taken.brain} />
          {unknown ? ', unless a route before it fits' : ''}
        </p>
      )}
      {isBare ? <p>The text is the command alone: svc describes it, and asks no model.</p> : null}
      <ul aria-label="Each route" className="flex flex-col gap-1 text-sm text-soft">
        {routes.map((one) => (
          <li key={one.number} className="wrap-anywhere">
            {visible(
              `Route ${one.number}, ${one.brain}: ${verdictWords[one.verdict]}, ${one.why}.`,
            )}
          </li>
        ))}
      </ul>
      {taken === null ? null : <ToTrial brain={taken.brain} text={text} channel={channel} />}
    </div>
  );
}

const verdictWords: Readonly<Record<ExplainedVerdict['verdict'], string>> = {
  taken: 'taken',
  not_taken: 'not taken',
  unknown: 'not decided',
  not_reached: 'not reached',
};

type ToTrialProps = { readonly brain: string; readonly text: string; readonly channel: string };

/** Brings the text to the trial of the brain. */
function ToTrial({ brain, text, channel }: ToTrialProps) {
  const document = useDraft((state) => state.document);
  const entry = entriesOf(document, ['brains']).find(
    ({ value }) => textAt(value, 'name') === brain,
  );
  if (entry === undefined || text.trim() === '') return null;
  const bring = (): void => {
    useDraft.getState().select(entry.path);
    write(brain, { text, channel, isPrivate: false });
    requestAnimationFrame(() => window.document.getElementById('try-text')?.focus());
  };
  return (
    <div>
      <Button small onClick={bring}>
        Try this brain with the text
      </Button>
    </div>
  );
}
