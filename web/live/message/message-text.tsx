import { formatModelName } from '../../../src/domain/model-words.ts';
import type { Story, StoryText, UnsentAnswer } from '../../../src/domain/story.ts';
import { summaryOf } from '../../../src/domain/trace.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { PageLink } from '../../kit/page-link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useToken } from '../../kit/token.ts';
import { Reveal } from '../reveal.tsx';
import { Words } from '../words.tsx';
import { some, length } from '../../kit/words.ts';
import {
  modeWords,
  outcomeWords,
  describeRule,
  type ToolUseText,
} from '../../../src/domain/tool-use.ts';
import { Link } from '../../kit/link.tsx';
import { State } from '../../kit/state.tsx';
import { ToolTexts } from '../tools/tool-texts.tsx';
import { toneOfOutcome } from '../outcome-tone.ts';

type Props = { readonly story: Story };

/** The message, its reply, and the models' answers behind it, only for the operator. */
export function MessageText({ story }: Props) {
  return (
    <Panel title="Text" aside={<TryIt story={story} />}>
      <Reveal<StoryText>
        path={`messages/${encodeURIComponent(story.id)}/text`}
        what="what was said"
      >
        {(text) => (
          <>
            <Said story={story} text={text} />
            <Answers story={story} text={text} />
            <ToolCalls tools={text.tools} />
          </>
        )}
      </Reveal>
    </Panel>
  );
}

/**
 * A link to the builder. The URL holds only the message's id; the builder reads the text for the
 * operator.
 */
function TryIt({ story: { id, trace } }: Props) {
  const token = useToken((state) => state.token);
  if (token === null || trace === null) return null;
  const place = new URLSearchParams({ view: 'try', message: id });
  return (
    <PageLink href={`/builder?${place.toString()}`} className="text-sm">
      Try this in the builder
    </PageLink>
  );
}

function Said({ story, text: said }: Props & { readonly text: StoryText }) {
  const { sender, conversation, text, media, replies } = said;
  return (
    <div className="flex flex-col gap-3">
      <p className="text-sm text-soft wrap-anywhere">
        {sender.name === null ? null : <AsWritten text={sender.name} />}{' '}
        {sender.name === null ? (
          <AsWritten text={sender.id} />
        ) : (
          <>
            (<AsWritten text={sender.id} />)
          </>
        )}
        , in <AsWritten text={conversation} />
      </p>
      <Words>{text}</Words>
      {media === null ? null : (
        <p className="text-sm wrap-anywhere">
          Attachment: <AsWritten text={[media.type, media.reference].filter(Boolean).join(' ')} />
        </p>
      )}
      {replies.map((reply) => (
        <div key={reply.id} className="ps-6">
          <p className="text-sm text-soft wrap-anywhere">
            {`Reply ${reply.id}`}
            <AsWritten text={describeFrom(story)} />
          </p>
          <Words>{reply.text}</Words>
        </div>
      ))}
    </div>
  );
}

/** The author of a reply. */
function describeFrom({ trace }: Story): string {
  if (trace === null) return '';
  const { outcome, model } = summaryOf(trace);
  if (outcome === 'reply') return model === null ? '' : `, by ${formatModelName(model)}`;
  return outcome === 'command' ? ', by svc itself' : ', an apology by svc itself';
}

type AnswersProps = { readonly story: Story; readonly text: StoryText };

/** Answers of models that were not sent. */
function Answers({ story, text: { unsent } }: AnswersProps) {
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

/**
 * The number of models that answered besides the reply, by the trace. An agent asks only one model.
 */
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

/** The tool calls of an agent in this turn, in order. */
function ToolCalls({ tools }: { readonly tools: readonly ToolUseText[] }) {
  if (tools.length === 0) return null;
  return (
    <section aria-labelledby="tool-calls" className="flex flex-col gap-3">
      <h3 id="tool-calls" className="text-sm font-semibold">
        Tools that were called
      </h3>
      <ol className="flex flex-col gap-4">
        {tools.map((use) => (
          <li key={use.key} className="flex flex-col gap-1">
            <p className="flex flex-wrap gap-x-3 text-sm">
              <code className="font-semibold">
                <AsWritten text={use.tool} />
              </code>
              <State tone={toneOfOutcome(use.outcome)}>{outcomeWords[use.outcome]}</State>
              <span className="text-soft">
                {modeWords[use.mode]}: {describeRule(use.rule)}, {length(use.ms)}
              </span>
            </p>
            <ToolTexts use={use} />
          </li>
        ))}
      </ol>
      <p className="text-sm">
        <Link to={{ view: 'tools' }} className="inline-flex min-h-6 items-center">
          Every use of a tool
        </Link>
      </p>
    </section>
  );
}
