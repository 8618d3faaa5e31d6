import type { Story, StoryText } from '../../../src/domain/story.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Panel } from '../../kit/panel.tsx';
import { Reveal } from '../reveal.tsx';
import { Words } from '../words.tsx';

/** What was said and answered, for the operator alone. */
export function MessageText({ story }: { readonly story: Story }) {
  return (
    <Panel title="Text">
      <Reveal<StoryText>
        path={`messages/${encodeURIComponent(story.id)}/text`}
        what="what was said"
      >
        {(text) => <Said text={text} />}
      </Reveal>
    </Panel>
  );
}

function Said({ text: { sender, conversation, text, media, replies } }: { text: StoryText }) {
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
          <p className="text-sm text-soft">Reply {reply.id}</p>
          <Words>{reply.text}</Words>
        </div>
      ))}
    </div>
  );
}
