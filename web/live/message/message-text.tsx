import { formatModelName } from '../../../src/domain/model-words.ts';
import type { Story, StoryText } from '../../../src/domain/story.ts';
import { summaryOf } from '../../../src/domain/trace.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { PageLink } from '../../kit/page-link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useToken } from '../../kit/token.ts';
import { Reveal } from '../reveal.tsx';
import { Words } from '../words.tsx';
import { Answers } from './answers.tsx';
import { ToolCalls } from './tool-calls.tsx';

type Props = { readonly story: Story };

/** What was said and answered, and what stood behind the answer, for the operator alone. */
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

/** The address names the message alone: its text is read by the builder, for the operator. */
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

/** Whose words a reply has. */
function describeFrom({ trace }: Story): string {
  if (trace === null) return '';
  const { outcome, model } = summaryOf(trace);
  if (outcome === 'reply') return model === null ? '' : `, by ${formatModelName(model)}`;
  return outcome === 'command' ? ', by svc itself' : ', an apology by svc itself';
}
