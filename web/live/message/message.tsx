import { channelName } from '../../../src/channels/registry.ts';
import type { ReactNode } from 'react';
import type { Story } from '../../../src/domain/story.ts';
import { messageIdIn } from '../../../src/domain/ids.ts';
import { endingOf, remediesOf } from '../../../src/domain/ending.ts';
import { formatModelName } from '../../../src/domain/model-words.ts';
import { endOf, timelineOf, unexplainedIn } from '../../../src/domain/timeline.ts';
import { describeSpentIn, summaryOf } from '../../../src/domain/trace.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { Notice, Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { usePlace } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { length, moment, some, upper } from '../../kit/words.ts';
import { CopyJson } from '../copy-json.tsx';
import { useLiveEvents } from '../feed.ts';
import { Related } from '../links/related.tsx';
import { MessageText } from './message-text.tsx';
import { Waterfall } from './waterfall.tsx';

const everyMs = 5_000;

/** The whole story of one message, on one time axis. */
export function MessagePage() {
  const id = messageIdIn(usePlace()['id'] ?? '');
  const path = id === '' ? null : `messages/${encodeURIComponent(id)}`;
  const { value: story, refused, again } = useAsked<Story>(path, everyMs);
  useLiveEvents((liveEvent) => {
    if ('id' in liveEvent && liveEvent.id === id) again();
    else if ('message' in liveEvent && liveEvent.message === id) again();
  });
  return (
    <>
      <p>
        <Link to={{ view: 'messages' }}>All messages</Link>
      </p>
      <Refusal refused={refused} />
      {path === null ? <Notice>Choose a message from the list.</Notice> : null}
      {story === null ? (
        path !== null && refused === null && <Asking />
      ) : (
        <StoryView story={story} />
      )}
    </>
  );
}

const isOver = ({ state, replies }: Story): boolean =>
  state !== 'waiting' && replies.every((reply) => reply.state !== 'waiting');

function StoryView({ story }: { readonly story: Story }) {
  const now = useNow();
  const rows = timelineOf(story, now, (at) => moment(at, now));
  const endMs = endOf(story, now);
  const ending = endingOf(story, now, (at) => moment(at, now));
  return (
    <>
      <Panel title={`Message ${story.id}`}>
        <p className="text-lg wrap-anywhere">
          <State tone={ending.means}>
            <AsWritten text={upper(ending.words)} />
          </State>
        </p>
        {remediesOf(story).map((sentence) => (
          <Notice key={sentence}>
            <AsWritten text={sentence} />
          </Notice>
        ))}
        <Facts story={story} endMs={endMs} lostMs={unexplainedIn(rows)} />
      </Panel>
      <Panel title="What happened" aside={<CopyJson value={story} />}>
        <Waterfall rows={rows} endMs={endMs} />
        {story.trace === null && story.state !== 'waiting' ? (
          <p className="text-soft">
            What happened between its acceptance and its end was not kept.
          </p>
        ) : null}
      </Panel>
      <Related story={story} />
      <MessageText story={story} />
    </>
  );
}

type FactsProps = { readonly story: Story; readonly endMs: number; readonly lostMs: number };

function Facts({ story, endMs, lostMs }: FactsProps) {
  const { trace, channel, acceptedAt, diedUnder } = story;
  const model = trace === null ? null : summaryOf(trace).model;
  const spent = trace === null ? null : describeSpentIn(trace.steps);
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2 rounded-md border border-line bg-card px-4 py-3">
      <Fact name="Accepted">{moment(acceptedAt)}</Fact>
      <Fact name="Channel">{channelName(channel)}</Fact>
      <Fact name="Brain">{trace === null ? '–' : <AsWritten text={trace.brain} />}</Fact>
      <Fact name="Answer by">
        {model === null ? '–' : <AsWritten text={formatModelName(model)} />}
      </Fact>
      <Fact name={isOver(story) ? 'In all' : 'So far'}>{length(endMs)}</Fact>
      <Fact name="Not accounted for">{lostMs === 0 ? 'nothing' : length(lostMs)}</Fact>
      {spent === null ? null : <Fact name="Tokens">{upper(spent)}</Fact>}
      {diedUnder > 0 ? (
        <Fact name="svc ended while it was next">{some(diedUnder, 'time')}</Fact>
      ) : null}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-sm text-soft">{name}</dt>
      <dd className="font-medium wrap-anywhere tabular-nums">{children}</dd>
    </div>
  );
}
