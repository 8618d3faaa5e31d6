import { FirstMessage } from '../next-step.tsx';
import { useCallback, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { usePlace, type Place } from '../../kit/place.ts';
import { useToken } from '../../kit/token.ts';
import { count, some } from '../../kit/words.ts';
import { useKeys } from '../use-keys.ts';
import { filterOf } from './message-filter.ts';
import { filterNames, MessageFilters } from './message-filters.tsx';
import { switchLines, useLines, useLinesRefused } from './lines.ts';
import { messagesKept } from './message-list.ts';
import { MessageTable } from './message-table.tsx';
import { useHands } from './use-hands.ts';
import { useHold } from './use-hold.ts';
import { useMessages, type Messages as Known } from './use-messages.ts';

/** The messages as they arrive, newest first. */
export function Messages() {
  const place = usePlace();
  const token = useToken((state) => state.token);
  const narrowed = filterNames.map((name) => place[name] ?? '').join('\n');
  return (
    <Panel title="Messages">
      <MessageFilters place={place} />
      <List key={`${narrowed}\n${token ?? ''}`} name={narrowed} place={place} />
    </Panel>
  );
}

/** The list for one filter and one person. */
function List({ name, place }: { readonly name: string; readonly place: Place }) {
  const known = useMessages(name, () => filterOf(place, Date.now()));
  const { list, rows, refused, older, lastWasEmpty } = known;
  const held = useHold(name, list, rows);
  const { isPaused, shown, fresh, hold, release, letGo } = held;
  const hands = useHands(held);
  const [jumps, setJumps] = useState(0);
  const goOn = (): void => {
    letGo();
    setJumps((before) => before + 1);
  };
  const pause = (): void => (isPaused ? goOn() : hold('paused'));
  useKeys({ p: pause });
  const onTop = (isThere: boolean): void => (isThere ? release('reading') : hold('reading'));
  const onEnd = useCallback(() => {
    if (!lastWasEmpty) older?.();
  }, [older, lastWasEmpty]);
  return (
    <div {...hands.around} className="flex flex-col gap-2">
      <Refusal refused={refused} />
      <Refusal refused={useLinesRefused()} />
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-2">
        <Amount known={known} shown={shown.length} />
        <span className="flex flex-wrap items-center gap-2">
          {fresh > 0 ? (
            <Button small kind="main" onClick={goOn}>
              {count(fresh)} new
            </Button>
          ) : null}
          <LinesSwitch />
          <Button small aria-pressed={isPaused} onClick={pause}>
            {isPaused ? 'Go on' : 'Pause'}
          </Button>
        </span>
      </div>
      {shown.length === 0 && fresh === 0 && !known.asking && refused === null && older === null ? (
        <NothingYet isNarrowed={name.trim() !== ''} />
      ) : null}
      <MessageTable
        name={name}
        rows={shown}
        jumps={jumps}
        hands={hands.rows}
        onTop={onTop}
        onEnd={onEnd}
      />
      <p className="text-sm text-soft max-sm:hidden">
        <kbd>j</kbd>, <kbd>k</kbd>: next and previous row; <kbd>Enter</kbd>: open it; <kbd>p</kbd>:
        pause.
      </p>
    </div>
  );
}

/** Only for the operator, as the texts are private. */
function LinesSwitch() {
  const { isOn } = useLines();
  if (useToken(({ token }) => token === null)) return null;
  return (
    <Button small onClick={switchLines}>
      {isOn ? 'Hide what was said' : 'Show what was said'}
    </Button>
  );
}

/** Shown for an empty list: how a first message comes in, or why the filter hides all. */
function NothingYet({ isNarrowed }: { readonly isNarrowed: boolean }) {
  return (
    <div className="text-sm">
      {isNarrowed ? <p>None is like that: “Show all” shows every message.</p> : <FirstMessage />}
    </div>
  );
}

/** The number of messages, and how to load more. */
function Amount({ known, shown }: { readonly known: Known; readonly shown: number }) {
  const { asking, refused, older, lastWasEmpty, list } = known;
  const none = asking ? 'Asking …' : refused === null ? 'None so far.' : '';
  return (
    <p className="flex flex-wrap items-center gap-2 text-sm text-soft">
      {shown > 0 ? `${some(shown, 'message')}${older === null ? '' : ' and older ones'}.` : none}
      {list.isFull
        ? ` The page keeps ${count(messagesKept)}; narrow the list to see older ones.`
        : null}
      {lastWasEmpty && older !== null ? (
        <Button small onClick={older}>
          Look further back
        </Button>
      ) : null}
    </p>
  );
}
