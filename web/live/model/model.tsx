import { formatModelName } from '../../../src/domain/model-words.ts';
import { useState } from 'react';
import type { Status } from '../../../src/admin/admin.ts';
import type { ConfigInUse } from '../../../src/config/config-control.ts';
import type { ModelProbe } from '../../../src/admin/model-probes.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { OfBefore } from '../../kit/of-before.tsx';
import { Panel } from '../../kit/panel.tsx';
import { usePlace } from '../../kit/place.ts';
import { State, type Tone } from '../../kit/state.tsx';
import { useToken } from '../../kit/token.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { ago, count, length, some } from '../../kit/words.ts';
import { useLiveEvents } from '../feed.ts';
import { OperatorOnly } from '../operator-only.tsx';
import { useRefresh } from '../use-refresh.ts';
import { adviceFor } from './advice.ts';
import { AskIt } from './ask-it.tsx';
import { placesOf } from './in-config.ts';
import { Steps } from './steps.tsx';
import { useProbe } from './use-probe.ts';
import { UseOther } from './use-other.tsx';
import { verdictOf, type QuestionResult, type Verdict } from './verdict.ts';
import { useStatus } from '../status.tsx';

/** The page of one model: whether it answers, and otherwise the steps that help. */
export function ModelPage() {
  const { id = '' } = usePlace();
  const { value: status, refused, again } = useStatus();
  useLiveEvents(({ kind }) => void (kind === 'plan_used' && again()));
  // Kept outside the part that it changes: after the replacement, this model no longer exists.
  const [other, setOther] = useState<string | null>(null);
  return (
    <>
      <Asking value={status} refused={refused} />
      {status === null ? null : (
        <OfBefore when={refused !== null}>
          <Shown key={id} name={id} status={status} onOther={setOther} />
        </OfBefore>
      )}
      {other === null ? null : (
        <UseOther name={id} modelId={other} onClose={() => setOther(null)} />
      )}
    </>
  );
}

type Of = { readonly name: string; readonly status: Status };
type ShownProps = Of & { readonly onOther: (modelId: string) => void };

function Shown({ name, status, onOther }: ShownProps) {
  const [questionResult, setQuestionResult] = useState<QuestionResult | null>(null);
  const isAsked = status.brains.some(({ models }) =>
    models.some((model) => model.name === name && model.state === 'asked'),
  );
  const { probed, refused } = useProbe(isAsked ? name : null);
  const verdict = verdictOf(name, status, probed, questionResult);
  if (verdict === null) {
    return (
      <Panel title="No such model">
        <p>
          No brain of the configuration in use has a model of this name.{' '}
          <Link to={{ view: 'providers' }}>See those that it has</Link>.
        </p>
      </Panel>
    );
  }
  return (
    <>
      <Panel
        title={formatModelName(name)}
        aside={<Link to={{ view: 'providers' }}>All models</Link>}
      >
        <Headline name={name} verdict={verdict} />
        <Counts name={name} status={status} />
        <Refusal refused={refused} />
      </Panel>
      {verdict.kind === 'failing' ? (
        <Panel title="What to do">
          <Help name={name} verdict={verdict} probe={probed?.probe ?? null} onOther={onOther} />
        </Panel>
      ) : null}
      {verdict.kind === 'dropped' ? null : (
        <Panel title="Does it answer?">
          <OperatorOnly may="ask it">
            <AskIt name={name} onHeard={setQuestionResult} />
          </OperatorOnly>
        </Panel>
      )}
    </>
  );
}

const words: Readonly<Record<Verdict['kind'], readonly [Tone, string]>> = {
  answers: ['good', 'It answers'],
  there: ['good', 'It is there'],
  unknown: ['off', 'Not asked yet'],
  dropped: ['off', 'Never asked'],
  failing: ['bad', 'It does not answer'],
};

function Headline({ name, verdict }: { readonly name: string; readonly verdict: Verdict }) {
  const now = useNow();
  const [tone, word] = words[verdict.kind];
  return (
    <div role="status" className="flex flex-col gap-1">
      <p className="text-lg">
        <State tone={tone}>{word}</State>
      </p>
      {verdict.kind === 'failing' ? (
        <p>
          {adviceFor(verdict.failure, name).wrong}
          {verdict.since === null ? null : (
            <span className="text-soft" aria-hidden="true">
              {' '}
              That began {ago(verdict.since, now)}.
            </span>
          )}
        </p>
      ) : null}
      {verdict.kind === 'there' ? <p>Nobody has asked it since svc was started.</p> : null}
      {verdict.kind === 'dropped' ? (
        <p>Its brain is private, and the model is in the cloud: the privacy filter keeps it out.</p>
      ) : null}
    </div>
  );
}

function Counts({ name, status: { models, brains } }: Of) {
  const counts = models.find(({ model }) => model === name);
  const askers = brains.filter((brain) => brain.models.some((model) => model.name === name));
  return (
    <p className="text-soft">
      In the {askers.length === 1 ? 'brain' : 'brains'}{' '}
      {askers.map((brain, index) => (
        <span key={brain.name}>
          {index === 0 ? null : ', '}
          <AsWritten text={brain.name} />
        </span>
      ))}
      {counts === undefined ? null : (
        <>
          {' '}
          · {some(counts.answers, 'answer')} and {some(counts.failures, 'failure')} since the start
          {counts.times.p50Ms === null ? null : <> · half within {length(counts.times.p50Ms)}</>}
          {counts.givenUp === 0 ? null : <> · {count(counts.givenUp)} given up</>}
        </>
      )}
    </p>
  );
}

type HelpProps = Pick<ShownProps, 'name' | 'onOther'> & {
  readonly verdict: Extract<Verdict, { readonly kind: 'failing' }>;
  readonly probe: ModelProbe | null;
};

function Help({ name, verdict, probe, onOther }: HelpProps) {
  const token = useToken((state) => state.token);
  const { value: inUse, again } = useAsked<ConfigInUse>(token === null ? null : 'config');
  useRefresh(['plan_used'], again);
  const place = inUse === null ? null : (placesOf(inUse.text, name)[0] ?? null);
  const { steps } = adviceFor(verdict.failure, name);
  return <Steps steps={steps} probe={probe} place={place} onOther={onOther} />;
}
