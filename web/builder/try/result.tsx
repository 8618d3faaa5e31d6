/** The result of a trial: reply, votes, tool calls and answers. */
import { formatModelName } from '../../../src/domain/model-words.ts';
import type { AnswerRow, ToolRow, TryResult } from '../../../src/admin/config-trials.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { GrowingText, LongText } from '../../kit/long-text.tsx';
import { Notice } from '../../kit/notice.tsx';
import { State, toneOf, type Tone } from '../../kit/state.tsx';
import { length, some, spaced } from '../../kit/words.ts';

/** The result of a trial: the reply, the reason for it, and each model's answer. */
export function Result({ result }: { readonly result: TryResult }) {
  const { decision, ms, why, answers, tools, trace } = result;
  const winner = decision.kind === 'reply' ? decision.model : null;
  return (
    <div className="flex flex-col gap-3">
      <Notice tone={decision.kind === 'reply' ? 'good' : 'wait'}>
        <h3 className="text-sm font-semibold">
          {decision.kind === 'reply'
            ? 'The reply'
            : `No reply, so the sender is told (${spaced(decision.apology)})`}
        </h3>
        <LongText text={decision.text} name="The text of the reply" />
        <p className="text-sm text-soft">
          {length(ms)} · {why}
        </p>
      </Notice>
      <Votes steps={trace.steps} />
      <div className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {answers.map((answer, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- a model may be listed twice
          <Answer key={index} answer={answer} won={answer.model === winner} />
        ))}
      </div>
      {tools.length === 0 ? null : <Tools tools={tools} />}
    </div>
  );
}

/**
 * The partial reply, in place of the final one. Screen readers skip it, since each word would
 * interrupt the one before.
 */
export function Growing({ text }: { readonly text: string }) {
  const name = 'The reply so far';
  return (
    <div aria-live="off">
      <Notice>
        <h3 className="text-sm font-semibold">{name}</h3>
        <GrowingText text={text} name={name} />
        <p className="text-sm text-soft">The model writes …</p>
      </Notice>
    </div>
  );
}

const kinds: Readonly<Record<AnswerRow['kind'], readonly [Tone, string]>> = {
  answer: ['good', 'Answered'],
  failed: ['bad', 'Failed'],
  dropped: ['off', 'Never asked'],
  not_asked: ['off', 'Not asked'],
};

function Answer({ answer, won }: { readonly answer: AnswerRow; readonly won: boolean }) {
  const { model, kind, text, ms, failure, reason } = answer;
  const isOutranked = failure?.kind === 'outranked';
  const [tone, word] = isOutranked ? (['off', 'Given up'] as const) : kinds[kind];
  const look = won ? 'border-good border-2' : 'border-line';
  return (
    <article className={`flex min-w-0 flex-col gap-1 rounded-md border bg-card p-3 ${look}`}>
      <h4
        className={`text-sm font-semibold break-words ${kind === 'dropped' ? 'line-through' : ''}`}
      >
        <AsWritten text={formatModelName(model)} />
      </h4>
      <p className="flex flex-wrap gap-x-3 text-sm">
        <State tone={tone}>{word}</State>
        {ms === null ? null : <span className="text-soft">{length(ms)}</span>}
        {won ? <strong className="text-good">this is the reply</strong> : null}
      </p>
      {text === null ? null : <LongText text={text} name={`What ${formatModelName(model)} said`} />}
      {reason === null ? null : <p className="text-sm text-soft">{reason}</p>}
      {failure === null ? null : (
        <p className="text-sm text-soft">
          {isOutranked ? '' : `${spaced(failure.kind)}: `}
          {failure.status === null ? '' : `status ${failure.status}, `}
          {failure.detail}
        </p>
      )}
    </article>
  );
}

/** Which models agreed; only a consensus counts votes. */
function Votes({ steps }: { readonly steps: TryResult['trace']['steps'] }) {
  const policy = steps.find((step) => step.kind === 'policy');
  if (policy?.kind !== 'policy' || policy.votes.length === 0) return null;
  return (
    <div className="text-sm">
      <h4 className="font-semibold">Votes</h4>
      <ul className="ms-5 list-disc">
        {policy.votes.map((group) => (
          <li key={group.join()}>
            {some(group.length, 'vote')}: {group.map(formatModelName).join(', ')}
            {policy.winner !== null && group.includes(policy.winner) ? ' (the reply)' : ''}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Tools({ tools }: { readonly tools: readonly ToolRow[] }) {
  return (
    <div className="flex flex-col gap-1 text-sm">
      <h4 className="font-semibold">Tools</h4>
      <ul className="divide-y divide-line rounded-md border border-line bg-card">
        {tools.map(({ tool, mode, outcome, arguments: given, result }, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- calls stay in their order
          <li key={index} className="flex flex-col gap-0.5 px-3 py-1.5">
            <span className="flex flex-wrap gap-x-3">
              <strong>{tool}</strong>
              <State tone={outcomeTone(outcome)}>{describeOutcome(mode, outcome)}</State>
              <span className="text-soft">{mode}</span>
            </span>
            <div className="font-mono">
              <LongText text={given} name={`What ${tool} was called with`} />
            </div>
            {result === null ? null : (
              <div className="text-soft">
                <LongText text={result} name={`What ${tool} gave`} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

const outcomes: Readonly<Partial<Record<ToolRow['outcome'], string>>> = {
  done: 'Run',
  rehearsed: 'Not run: a rehearsal',
};

function describeOutcome(mode: ToolRow['mode'], outcome: ToolRow['outcome']): string {
  if (mode === 'ask' && outcome === 'rehearsed') return 'Not run: in use it asks first';
  return outcomes[outcome] ?? spaced(outcome);
}

function outcomeTone(outcome: ToolRow['outcome']): Tone {
  if (outcome === 'done') return 'good';
  return outcome === 'rehearsed' ? 'wait' : toneOf('failed');
}
