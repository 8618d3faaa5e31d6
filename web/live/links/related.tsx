import { toneOfOutcome } from '../outcome-tone.ts';
import type { ReactNode } from 'react';
import { completionsChannel } from '../../../src/domain/ids.ts';
import type { Story } from '../../../src/domain/story.ts';
import { Button } from '../../kit/button.tsx';
import { Link } from '../../kit/link.tsx';
import { Panel } from '../../kit/panel.tsx';
import { goTo } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { useToken } from '../../kit/token.ts';
import { some } from '../../kit/words.ts';
import { askToSignIn, useWayIn } from '../../kit/ways-in.tsx';
import { boxWords } from '../dead-letters/letter-words.ts';
import { ForgetPerson } from '../people/forget-person.tsx';
import { ConversationOf, SenderOf } from './conversation-of.tsx';
import { deliveriesIn, lettersIn } from './of-story.ts';
import { useOrigin } from './origins.ts';
import { deliveriesPlace, lettersPlace, turnPlace } from './places.ts';

/** Links of a message to its conversation, turn, deliveries and dead letters. */
export function Related({ story }: { readonly story: Story }) {
  const letters = lettersIn(story);
  return (
    <Panel title="Belongs to">
      <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[auto_minmax(0,1fr)]">
        <Whose story={story} />
        <Entry name="Deliveries">
          <Deliveries story={story} />
        </Entry>
        <AskedCalls story={story} />
        {letters.length === 0 ? null : (
          <Entry name="Dead letters">
            {letters.map(({ id, box }) => (
              <Link key={id} to={lettersPlace(story.id)} className="block">
                {boxWords[box]}
              </Link>
            ))}
          </Entry>
        )}
      </dl>
    </Panel>
  );
}

function Entry({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="min-h-7 min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}

/** The sender and the conversation, only for the operator. */
function Whose({ story: { id, channel, state, trace } }: { readonly story: Story }) {
  const isOperator = useToken(({ token }) => token !== null);
  const wayIn = useWayIn();
  const origin = useOrigin(id);
  const hasConversation = channel !== completionsChannel;
  if (!isOperator) {
    return (
      <Entry name={hasConversation ? 'Conversation' : 'From'}>
        <Button small onClick={askToSignIn}>
          {wayIn} to see it
        </Button>
      </Entry>
    );
  }
  const hasTurn = hasConversation && state === 'answered' && trace?.outcome !== 'command';
  return (
    <>
      <Entry name="From">
        <span className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
          <SenderOf message={id} />
          {origin?.sender == null ? null : (
            <ForgetPerson
              channel={origin.channel}
              sender={origin.sender}
              onDone={() => goTo({ view: 'messages' }, { replace: true })}
            />
          )}
        </span>
      </Entry>
      {hasConversation ? (
        <Entry name="Conversation">
          <ConversationOf message={id} />
        </Entry>
      ) : null}
      {hasTurn ? (
        <Entry name="Turn">
          {origin === null ? (
            '–'
          ) : (
            <Link to={turnPlace(origin.conversationId, id)}>In its conversation</Link>
          )}
        </Entry>
      ) : null}
    </>
  );
}

/** Links to approvals that its turn asked for or continued from. */
function AskedCalls({ story: { trace } }: { readonly story: Story }) {
  const steps = trace?.steps ?? [];
  const followed = steps.find((step) => step.kind === 'approval');
  const hasAsked = steps.some((step) => step.kind === 'tool' && step.outcome === 'asked');
  if (followed === undefined && !hasAsked) return null;
  return (
    <Entry name="Approvals">
      {followed === undefined ? null : (
        <Link to={{ view: 'approvals', state: followed.verdict }} className="block">
          calls that were {followed.verdict}
        </Link>
      )}
      {hasAsked ? <Link to={{ view: 'approvals' }}>calls that wait for a yes</Link> : null}
    </Entry>
  );
}

/** Counted by state, since a long reply has many parts. */
function Deliveries({ story }: { readonly story: Story }) {
  const states = Map.groupBy(deliveriesIn(story), ({ state }) => state);
  if (states.size === 0) return <>none</>;
  return (
    <Link to={deliveriesPlace(story.id)} className="flex flex-wrap gap-x-4 gap-y-1">
      {[...states].map(([state, rows]) => (
        <span key={state} className="flex gap-2">
          {some(rows.length, 'reply', 'replies')} <State tone={toneOfOutcome(state)}>{state}</State>
        </span>
      ))}
    </Link>
  );
}
