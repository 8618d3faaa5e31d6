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
import { messagesKept } from './message-list.ts';
import { MessageTable } from './message-table.tsx';
import { useHold } from './use-hold.ts';
import { useMessages, type Messages as Known } from './use-messages.ts';

/** The messages as they come, newest first. */
export function Messages() {
  const place = usePlace();
  const token = useToken((state) => state.token);
  const narrowed = filterNames.map((name) => place[name] ?? '').join('\n');
  return (
    <Panel title="Messages">
      <MessageFilters place={place} />
      <List key={`${narrowed}\n${token ?? ''}`} place={place} />
    </Panel>
  );
}

/** The list for one filter, as one person sees it. */
function List({ place }: { readonly place: Place }) {
  const [filter] = useState(() => filterOf(place, Date.now()));
  const known = useMessages(filter);
  const { list, rows, refused, older, lastWasEmpty } = known;
  const { holding, shown, fresh, hold, letGo } = useHold(list, rows);
  const [jumps, setJumps] = useState(0);
  const goOn = (): void => {
    letGo();
    setJumps((before) => before + 1);
  };
  const pause = (): void => (holding === 'paused' ? goOn() : hold('paused'));
  useKeys({ p: pause });
  const onTop = (isThere: boolean): void => {
    if (isThere && holding === 'reading') letGo();
    if (!isThere && holding === 'no') hold('reading');
  };
  const onEnd = useCallback(() => {
    if (!lastWasEmpty) older?.();
  }, [older, lastWasEmpty]);
  return (
    <>
      <Refusal refused={refused} />
      <div className="flex min-h-8 items-center justify-between gap-2">
        <Amount known={known} shown={shown.length} />
        <span className="flex items-center gap-2">
          {fresh > 0 ? (
            <Button small kind="main" onClick={goOn}>
              {count(fresh)} new
            </Button>
          ) : null}
          <Button small aria-pressed={holding === 'paused'} onClick={pause}>
            {holding === 'paused' ? 'Go on' : 'Pause'}
          </Button>
        </span>
      </div>
      <MessageTable rows={shown} jumps={jumps} onTop={onTop} onEnd={onEnd} />
      <p className="text-sm text-soft max-sm:hidden">
        <kbd>j</kbd>, <kbd>k</kbd>: next and previous row; <kbd>Enter</kbd>: open it; <kbd>p</kbd>:
        pause.
      </p>
    </>
  );
}

/** How much is there, and how to get on. */
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
