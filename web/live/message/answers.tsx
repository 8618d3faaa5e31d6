import { formatModelName } from '../../../src/domain/model-words.ts';
import type { Story, StoryText, UnsentAnswer } from '../../../src/domain/story.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { some } from '../../kit/words.ts';
import { Words } from '../words.tsx';

type Props = { readonly story: Story; readonly text: StoryText };

/** What the models answered whose answer was not sent. */
export function Answers({ story, text: { unsent } }: Props) {
  const lost = answeredIn(story) - unsent.length;
  if (unsent.length === 0 && lost <= 0) return null;
  return (
    <section aria-labelledby="unsent" className="flex flex-col gap-3">
      <h3 id="unsent" className="text-sm font-semibold">
        Answers that were not sent
      </h3>
      {unsent.map((answer, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a model may be listed twice
        <div key={index}>
          <p className="text-sm text-soft wrap-anywhere">
            <AsWritten text={describeAnswer(answer, story)} />
          </p>
          <Words>{answer.text}</Words>
        </div>
      ))}
      {lost > 0 ? <p className="text-soft">{some(lost, 'answer')} not kept.</p> : null}
    </section>
  );
}

/** How many models answered beside the reply, as the trace tells it; an agent asks one alone. */
function answeredIn({ trace }: Story): number {
  const policy = trace?.steps.find((step) => step.kind === 'policy');
  if (trace === null || policy === undefined) return 0;
  const answered = trace.steps.filter((step) => step.kind === 'model' && step.result === 'answer');
  return answered.length - (policy.winner === null ? 0 : 1);
}

function describeAnswer({ model }: UnsentAnswer, { trace }: Story): string {
  const policy = trace?.steps.find((step) => step.kind === 'policy');
  const side = policy?.votes.find((group) => group.includes(model));
  const name = formatModelName(model);
  if (side === undefined) return name;
  if (policy?.winner !== null && policy !== undefined && side.includes(policy.winner)) {
    return `${name}, which agreed`;
  }
  const others = side.filter((other) => other !== model).map(formatModelName);
  return others.length === 0 ? `${name}, alone` : `${name}, with ${others.join(', ')}`;
}
