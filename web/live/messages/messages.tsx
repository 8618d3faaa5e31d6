import { FirstMessage } from '../next-step.tsx';
import { useCallback, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { goTo, usePlace, type Place } from '../../kit/place.ts';
import { useToken } from '../../kit/token.ts';
import { count, some } from '../../kit/words.ts';
import { useKeys } from '../use-keys.ts';
import { filterOf } from './message-filter.ts';
import { filterNames, MessageFilters } from './message-filters.tsx';
import { switchLines, useLines, useLinesRefused } from './lines.ts';
import { pageRows } from './message-reader.ts';
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
  const { reader, rows, refused, older, lastWasEmpty } = known;
  const held = useHold(name, reader.list, rows);
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
        <Amount known={known} shown={shown.length} place={place} />
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

type AmountProps = { readonly known: Known; readonly shown: number; readonly place: Place };

/** The number of messages, and how to load more. */
function Amount({ known, shown, place }: AmountProps) {
  const { asking, refused, older, hasOlder, lastWasEmpty } = known;
  const none = asking ? 'Asking …' : refused === null ? 'None so far.' : '';
  return (
    <p className="flex flex-wrap items-center gap-2 text-sm text-soft">
      {shown > 0 ? `${some(shown, 'message')}${hasOlder ? ' and older ones' : ''}.` : none}
      {lastWasEmpty && older !== null ? (
        <Button small onClick={older}>
          Look further back
        </Button>
      ) : null}
      <Past known={known} place={place} />
    </p>
  );
}

/** As many of the first messages as a page shows without scrolling. */
const firstRows = 10;

/**
 * Goes through all messages ever. The page keeps a part of them, up to the end that the URL holds.
 * So each of these places is a link, and Back returns from it.
 */
function Past({ known, place }: Omit<AmountProps, 'shown'>) {
  const { reader, rows, hasOlder } = known;
  const { since, until } = reader.filter;
  const goUpTo = (end: number | null | undefined): void => {
    if (end === undefined) return;
    goTo({ ...place, within: '', since: String(since ?? ''), until: String(end ?? '') });
  };
  const first = async () => goUpTo(await reader.endOfOldest(reader.filter, firstRows));
  const newer = async () => {
    goUpTo(await reader.endOfOldest({ ...reader.filter, since: until, until: null }, pageRows));
  };
  const step = (words: string, isThere: boolean, go: () => unknown) =>
    isThere ? (
      <Button small onClick={go}>
        {words}
      </Button>
    ) : null;
  return (
    <>
      {step('First messages', hasOlder, first)}
      {step('Older messages', reader.list.isFull, () => goUpTo(rows.at(-1)!.acceptedAt + 1))}
      {step('Newer messages', until !== null, newer)}
    </>
  );
}
