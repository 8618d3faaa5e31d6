import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Tabs } from '@base-ui/react/tabs';
import type { Page } from '../../../src/domain/page.ts';
import type { ConversationText, TurnText } from '../../../src/domain/story.ts';
import { formatModelName } from '../../../src/domain/model-words.ts';
import { cutReasons } from '../../../src/domain/trace.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { focusOn } from '../../kit/focus.ts';
import { Link } from '../../kit/link.tsx';
import { usePlace } from '../../kit/place.ts';
import type { Refused } from '../../kit/api.ts';
import { Refusal } from '../../kit/notice.tsx';
import { moment } from '../../kit/words.ts';
import { turnPlace } from '../links/places.ts';
import { TurnLinks, useNamedTurn } from '../links/turn-links.tsx';
import { Words } from '../words.tsx';
import { readRest } from './read-rest.ts';

type Props = {
  /** The API path of the pages behind the first one. */
  readonly path: string;
  readonly first: Page<TurnText>;
  readonly cuts: ConversationText['cuts'];
};

/** Messages and replies: a tab for each session, the active one first. */
export function Turns({ path, first, cuts }: Props) {
  const { turns, refused, done } = useTurns(path, first);
  const sessions = [...new Set(turns.map(({ session }) => session))].toSorted((a, b) => b - a);
  const named = useNamedTurn();
  const leadsTo = turns.find(({ messageId }) => named !== null && messageId === named);
  /** The selected tab, while the URL names the same turn; another link selects another session. */
  const [chosen, setChosen] = useState<{ session: number; of: string | null } | null>(null);
  const shown = chosen?.of === named ? chosen.session : (leadsTo?.session ?? sessions[0]);
  if (sessions.length === 0) return <p className="text-soft">No turn is kept.</p>;
  return (
    <>
      <Refusal refused={refused} />
      {done ? null : <p className="text-soft">Reading on …</p>}
      {done && named !== null && leadsTo === undefined ? (
        <p className="text-soft">The turn that the link names is not kept here.</p>
      ) : null}
      <Tabs.Root
        value={shown}
        onValueChange={(session: number) => setChosen({ session, of: named })}
        className="flex flex-col gap-3"
      >
        <Tabs.List aria-label="Sessions" className="flex flex-wrap gap-1 border-b border-line">
          {sessions.map((session) => (
            <Tabs.Tab
              key={session}
              value={session}
              className="rounded-t-md px-3 py-1 data-active:bg-accent-ground data-active:font-medium"
            >
              Session {session}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {sessions.map((session) => (
          <Tabs.Panel key={session} value={session} className="flex flex-col gap-3">
            <Session
              turns={turns.filter((turn) => turn.session === session)}
              cut={cuts.find((one) => one.session === session)}
            />
          </Tabs.Panel>
        ))}
      </Tabs.Root>
    </>
  );
}

type SessionProps = {
  readonly turns: readonly TurnText[];
  readonly cut: ConversationText['cuts'][number] | undefined;
};

function Session({ turns, cut }: SessionProps) {
  return (
    <>
      {cut === undefined ? null : (
        <p className="text-sm text-soft">
          Began {moment(cut.at)}: {cutReasons[cut.reason]}.
        </p>
      )}
      <ol className="flex flex-col gap-4">
        {turns.map((turn, index) => (
          // Not each turn has an id, and the order never changes.
          // oxlint-disable-next-line react/no-array-index-key
          <Turn key={index} turn={turn} />
        ))}
      </ol>
    </>
  );
}

/** A turn. The one in the URL is marked, in view, and focused. */
function Turn({ turn }: { readonly turn: TurnText }) {
  const { messageId, at, sender, text, reply, model, byHand } = turn;
  const { open = '', turn: named } = usePlace();
  const isNamed = messageId !== null && named === messageId;
  const place = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    if (isNamed) focusOn(place.current);
  }, [isNamed]);
  return (
    <li
      ref={place}
      aria-current={isNamed ? 'true' : undefined}
      className="flex scroll-mt-4 flex-col gap-1 aria-[current]:border-s-4 aria-[current]:border-accent aria-[current]:ps-3"
    >
      <p className="flex flex-wrap gap-x-4 text-sm text-soft wrap-anywhere">
        <span>
          {messageId === null ? (
            moment(at)
          ) : (
            <Link to={turnPlace(open, messageId)}>{moment(at)}</Link>
          )}{' '}
          · {sender === null ? 'from an earlier session, quoted' : <AsWritten text={sender} />}
        </span>
        <TurnLinks message={messageId} />
      </p>
      <Words>{text}</Words>
      <div className="ps-6">
        {model === null ? null : (
          <p className="text-sm text-soft wrap-anywhere">
            <AsWritten text={formatModelName(model)} />
          </p>
        )}
        {reply !== null && byHand !== null ? <p className="text-sm text-soft">By hand</p> : null}
        {reply === null ? (
          <Unanswered conversation={open} byHand={byHand} />
        ) : (
          <Words>{reply}</Words>
        )}
      </div>
    </li>
  );
}

type UnansweredProps = { readonly conversation: string } & Pick<TurnText, 'byHand'>;

function Unanswered({ conversation, byHand }: UnansweredProps) {
  if (byHand === null) return <p className="text-soft">No reply.</p>;
  const { answeredWith } = byHand;
  return (
    <p className="text-soft">
      Answered by hand, together with{' '}
      {answeredWith === null ? (
        'a later message'
      ) : (
        <Link to={turnPlace(conversation, answeredWith)}>a later message</Link>
      )}
      .
    </p>
  );
}

function useTurns(path: string, first: Page<TurnText>) {
  const [rest, setRest] = useState<readonly TurnText[]>([]);
  const [refused, setRefused] = useState<Refused | null>(null);
  const [done, setDone] = useState(first.next === null);
  const { next } = first;
  useEffect(() => {
    const ending = new AbortController();
    const add = ({ rows }: Page<TurnText>): void => setRest((before) => [...before, ...rows]);
    const read = async (): Promise<void> => {
      const failed = await readRest(path, next, ending.signal, add);
      if (ending.signal.aborted) return;
      setRefused(failed);
      setDone(true);
    };
    void read();
    return () => ending.abort();
  }, [path, next]);
  return { turns: [...first.rows, ...rest], refused, done };
}
