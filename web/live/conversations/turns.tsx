import { useEffect, useState } from 'react';
import { Tabs } from '@base-ui/react/tabs';
import type { Page } from '../../../src/domain/page.ts';
import type { ConversationText, TurnText } from '../../../src/domain/story.ts';
import { sayModelName } from '../../../src/domain/model-words.ts';
import { cutReasons } from '../../../src/domain/timeline.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import type { Refused } from '../../kit/api.ts';
import { Refusal } from '../../kit/notice.tsx';
import { moment } from '../../kit/words.ts';
import { Words } from '../words.tsx';
import { readRest } from './read-rest.ts';

type Props = {
  /** A path of the API; the pages behind the first one are read from it. */
  readonly path: string;
  readonly first: Page<TurnText>;
  readonly cuts: ConversationText['cuts'];
};

/** What was said and answered, a tab for each session, the active one first. */
export function Turns({ path, first, cuts }: Props) {
  const { turns, refused, done } = useTurns(path, first);
  const sessions = [...new Set(turns.map(({ session }) => session))].toSorted((a, b) => b - a);
  if (sessions.length === 0) return <p className="text-soft">No turn is kept.</p>;
  return (
    <>
      <Refusal refused={refused} />
      {done ? null : <p className="text-soft">Reading on …</p>}
      <Tabs.Root defaultValue={sessions[0]} className="flex flex-col gap-3">
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
        {turns.map(({ at, sender, text, reply, model }, index) => (
          // A turn has no id, and the order of what is kept does not change.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index} className="flex flex-col gap-1">
            <p className="text-sm text-soft wrap-anywhere">
              {moment(at)} ·{' '}
              {sender === null ? 'from an earlier session, quoted' : <AsWritten text={sender} />}
            </p>
            <Words>{text}</Words>
            <div className="ps-6">
              {model === null ? null : (
                <p className="text-sm text-soft wrap-anywhere">
                  <AsWritten text={sayModelName(model)} />
                </p>
              )}
              {reply === null ? <p className="text-soft">No reply.</p> : <Words>{reply}</Words>}
            </div>
          </li>
        ))}
      </ol>
    </>
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
