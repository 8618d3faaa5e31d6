import { useState } from 'react';
import type { TakeoverTimes } from '../../../src/domain/takeover.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { lasted, moment } from '../../kit/words.ts';
import { useRefresh } from '../use-refresh.ts';
import { Waiting, type Counted } from './waiting.tsx';

/** Shows soon what another operator does, and that a takeover has ended. */
const everyMs = 10_000;

type Asked = { readonly [Field in keyof TakeoverTimes]: TakeoverTimes[Field] | null };

type Props = { readonly id: string; readonly counted: Counted };

/** Takes a conversation over from its brain, answers it, and returns it to the brain. */
export function Takeover({ id, counted }: Props) {
  const own = encodeURIComponent(id);
  const { value, refused, again } = useAsked<Asked>(`holds/${own}`, everyMs);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<Refused | null>(null);
  // Outlives the takeover: another operator may end it while this one writes.
  const [written, setWritten] = useState('');
  useRefresh(['operator_wrote'], again);
  const act = async (what: 'hold' | 'release'): Promise<void> => {
    // The button is not disabled meanwhile, since it would lose the focus.
    if (busy) return;
    setBusy(true);
    const answer = await ask(`conversations/${own}/${what}`, { method: 'POST' });
    setBusy(false);
    setFailed(answer.kind === 'refused' ? answer : null);
    again();
  };
  if (value === null) return <Refusal refused={refused} />;
  const { since, untilAt } = value;
  const isHeld = since !== null && untilAt !== null;
  return (
    <Panel
      title="By hand"
      aside={
        <span className="flex flex-wrap gap-2">
          {isHeld ? (
            <Button small onClick={() => void act('hold')}>
              Hold for an hour from now
            </Button>
          ) : null}
          {/* One button, so that the focus stays on it. */}
          <Button small onClick={() => void act(isHeld ? 'release' : 'hold')}>
            {isHeld ? 'Give back' : 'Take over'}
          </Button>
        </span>
      }
    >
      <Refusal refused={failed ?? refused} />
      {isHeld ? (
        <>
          <Left since={since} untilAt={untilAt} />
          <Waiting
            path={`conversations/${own}/answer`}
            read={`holds/${own}/waiting`}
            counted={counted}
            written={written}
            onWrite={setWritten}
            done={again}
          />
        </>
      ) : (
        <>
          <p className="text-soft">
            Its brain answers. Take it over to answer yourself: no model is asked then, a turn at
            work ends, and what comes waits for you.
          </p>
          {written.trim() === '' ? null : (
            <p role="status">
              It was given back before you sent your answer, which is kept here: take it over again
              to go on with it.
            </p>
          )}
        </>
      )}
    </Panel>
  );
}

function Left({ since, untilAt }: TakeoverTimes) {
  const now = useNow();
  const left =
    untilAt > now ? `goes back to its brain in ${lasted(now, untilAt)}` : 'goes back now';
  return (
    <p role="status">
      Held by an operator since {moment(since)}. Unless it is answered or held on, it {left}.
    </p>
  );
}
