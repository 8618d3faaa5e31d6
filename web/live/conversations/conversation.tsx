import { channelName } from '../../../src/channels/registry.ts';
import type { ConversationText } from '../../../src/domain/story.ts';
import type { TurnText } from '../../../src/domain/story.ts';
import type { Page } from '../../../src/domain/page.ts';
import { cutReasons } from '../../../src/domain/trace.ts';
import { Link } from '../../kit/link.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { moment, some } from '../../kit/words.ts';
import { Reveal } from '../reveal.tsx';
import { useRefresh } from '../use-refresh.ts';
import { Takeovers } from './by-hand.tsx';
import { DeleteConversation } from './delete-conversation.tsx';
import { Export } from './export.tsx';
import { Notes } from './notes.tsx';
import { pathOf } from './path-of.ts';
import { NamedTurn } from '../links/named-turn.tsx';
import { Turns } from './turns.tsx';

const pageRows = 500;

/** @param id of svc's own; a platform's may be somebody's name or number, and is in no address */
export function Conversation({ id }: { readonly id: string }) {
  const path = `conversations/${encodeURIComponent(id)}`;
  const { value, answeredAt, refused, again } = useAsked<ConversationText>(path);
  useRefresh(['message_accepted', 'turn_finished', 'command_answered', 'operator_wrote'], again);
  // What was said in one that is deleted meanwhile is shown no more.
  const isGone = refused?.status === 404;
  return (
    <>
      <p>
        <Link to={{ view: 'conversations' }}>All conversations</Link>
      </p>
      <Refusal refused={refused} />
      {value === null || isGone ? (
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
                channelName(value.channel),
                some(value.turns, 'turn'),
                some(value.sessions, 'session'),
                `${moment(value.firstAt)} to ${moment(value.lastAt)}`,
                `${value.waiting} waiting`,
              ].join(' · ')}
            </p>
            <Cuts cuts={value.cuts} />
          </Panel>
          <Takeovers id={id} counted={{ waiting: value.waiting, at: answeredAt ?? 0 }} />
          <TurnsOf conversation={value} />
          <Notes of={value} />
        </>
      )}
    </>
  );
}

/** What was said, only once somebody wants to see it. */
function TurnsOf({ conversation }: { readonly conversation: ConversationText }) {
  const path = `conversations/${pathOf(conversation)}/turns`;
  return (
    <Panel title="Turns">
      <NamedTurn />
      <Reveal<Page<TurnText>> path={`${path}?limit=${pageRows}`} what="what was said">
        {(first) => <Turns path={path} first={first} cuts={conversation.cuts} />}
      </Reveal>
    </Panel>
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
