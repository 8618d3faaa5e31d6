import type { ConversationKey, ConversationText } from '../../../src/domain/story.ts';
import type { TurnText } from '../../../src/domain/story.ts';
import type { Page } from '../../../src/domain/page.ts';
import { cutReasons } from '../../../src/domain/timeline.ts';
import { Link } from '../../kit/link.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { moment, some } from '../../kit/words.ts';
import { Reveal } from '../reveal.tsx';
import { DeleteConversation } from './delete-conversation.tsx';
import { Export } from './export.tsx';
import { Notes } from './notes.tsx';
import { pathOf } from './opened.ts';
import { Turns } from './turns.tsx';

const pageRows = 500;

/** One conversation; what was said in it only once somebody wants to see it. */
export function Conversation({ of }: { readonly of: ConversationKey }) {
  const path = `conversations/${pathOf(of)}`;
  const { value, refused } = useAsked<ConversationText>(path);
  return (
    <>
      <p>
        <Link to={{ view: 'conversations' }}>All conversations</Link>
      </p>
      <Refusal refused={refused} />
      {value === null ? (
        refused === null && <p className="text-soft">Asking …</p>
      ) : (
        <>
          <Panel
            title={value.conversation}
            aside={
              <span className="flex flex-wrap gap-2">
                <Export conversation={value} />
                <DeleteConversation conversation={value} />
              </span>
            }
          >
            <p className="text-soft">
              {[
                value.channel,
                some(value.turns, 'turn'),
                some(value.sessions, 'session'),
                `${moment(value.firstAt)} to ${moment(value.lastAt)}`,
                `${value.waiting} waiting`,
              ].join(' · ')}
            </p>
            <Cuts cuts={value.cuts} />
          </Panel>
          <Panel title="Turns">
            <Reveal<Page<TurnText>> path={`${path}/turns?limit=${pageRows}`} what="what was said">
              {(first) => <Turns path={`${path}/turns`} first={first} cuts={value.cuts} />}
            </Reveal>
          </Panel>
          <Notes of={of} />
        </>
      )}
    </>
  );
}

function Cuts({ cuts }: Pick<ConversationText, 'cuts'>) {
  if (cuts.length === 0) return <p className="text-soft">No session was ever cut.</p>;
  return (
    <ul aria-label="Where sessions were cut" className="max-h-48 overflow-y-auto text-sm">
      {cuts.map(({ session, at, reason }) => (
        <li key={session}>
          Session {session} began {moment(at)}: {cutReasons[reason]}.
        </li>
      ))}
    </ul>
  );
}
