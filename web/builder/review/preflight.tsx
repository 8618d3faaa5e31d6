import { formatModelName } from '../../../src/domain/model-words.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { CheckLine, Preflighted } from '../../../src/admin/config-trials.ts';
import type { Answered } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State, type Tone } from '../../kit/state.tsx';
import { useDraft } from '../document/store.ts';
import { withPlaces } from '../outline/place-words.ts';
import { GoTo } from './go-to.tsx';
import { runPreflight, usePreflight } from './preflighted.ts';

const tones: Readonly<Record<CheckLine['kind'], Tone>> = {
  ok: 'good',
  warning: 'wait',
  failed: 'bad',
};
const words: Readonly<Record<CheckLine['kind'], string>> = {
  ok: 'Fine',
  warning: 'Warning',
  failed: 'Failed',
};

/** The subject of a line begins with a channel or a model. */
const named = (subject: string): string =>
  subject.replace(/^\S+/, (name) => channelName(formatModelName(name)));

export function Preflight() {
  const text = useDraft((state) => state.text);
  const { busy, last } = usePreflight();
  return (
    <Panel
      title="Will it work there?"
      aside={
        <Button small disabled={busy} onClick={() => void runPreflight()}>
          {busy ? 'Looking …' : last === null ? 'Run the preflight' : 'Run it again'}
        </Button>
      }
    >
      <p className="text-soft">
        The service looks for every secret, tries where it would listen, reaches every model and
        receiver, and asks each bot who it is. No text of a conversation is sent to anyone.
      </p>
      <div aria-live="polite">
        {last === null ? null : <PreflightResult answer={last.answer} isOld={last.text !== text} />}
      </div>
    </Panel>
  );
}

type PreflightResultProps = { readonly answer: Answered<Preflighted>; readonly isOld: boolean };

function PreflightResult({ answer, isOld }: PreflightResultProps) {
  const document = useDraft((state) => state.document);
  if (answer.kind === 'refused') return <Refusal refused={answer} />;
  const { lines, problems } = answer.value;
  const errors = problems.filter(({ severity }) => severity === 'error');
  return (
    <>
      {isOld ? <p className="text-wait">This was before your last edit.</p> : null}
      <ul className="divide-y divide-line rounded-md border border-line bg-card text-sm">
        {errors.map(({ path, message, remedy }) => (
          <li key={`${path} ${message}`} className="px-3 py-1.5">
            <State tone="bad">Problem</State> <GoTo path={path} />: {message}. {remedy}
          </li>
        ))}
        {lines.map(({ kind, subject, message, remedy }) => (
          <li key={`${subject} ${message}`} className="px-3 py-1.5">
            <State tone={tones[kind]}>{words[kind]}</State>{' '}
            <span className="font-medium">{withPlaces(named(subject), document)}</span>:{' '}
            {withPlaces(message, document)}
            {remedy === null ? null : (
              <span className="text-soft"> {withPlaces(remedy, document)}</span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
