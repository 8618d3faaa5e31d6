import { useEffect, useMemo, useRef, useState, type RefObject } from 'react';
import { create } from 'zustand';
import { searchCharactersMax } from '../../../src/domain/search.ts';
import { Button } from '../../kit/button.tsx';
import { Choices } from '../../kit/choices.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { useToken } from '../../kit/token.ts';
import { moment } from '../../kit/words.ts';
import { askToSignIn, useWayIn } from '../../kit/ways-in.tsx';
import type { NavigationEntry } from '../navigation/navigation.tsx';
import { useStatus } from '../status.tsx';
import { useKeys } from '../use-keys.ts';
import { useFinding, type Finding } from './finding.ts';
import { daysNamed } from './days.ts';
import { namedSo, namesOf } from './names.ts';
import { usePeople } from './people.ts';
import { groupsOf } from './rows.tsx';

const useSearching = create<{ readonly open: boolean }>(() => ({ open: false }));
const open = (): void => useSearching.setState({ open: true });
const close = (): void => useSearching.setState({ open: false });

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** The search dialog of the live view: finds names, ids and words. */
export function Search({ views }: { readonly views: readonly NavigationEntry[] }) {
  const isOpen = useSearching((state) => state.open);
  const input = useRef<HTMLInputElement>(null);
  useKeys({ '/': open });
  useEffect(() => {
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <Button
        small
        onClick={open}
        aria-keyshortcuts="Control+K Meta+K /"
        className="text-soft sm:min-w-40"
      >
        <span className="flex-1 text-start">Search</span>{' '}
        <kbd className="text-xs max-sm:hidden">{isMac ? '⌘ K' : 'Ctrl K'}</kbd>
      </Button>
      <Dialog open={isOpen} title="Search" onClose={close} first={input} wide>
        <Searching views={views} input={input} />
      </Dialog>
    </>
  );
}

function onKeyDown(event: KeyboardEvent): void {
  const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
  if (!isK || event.altKey || event.shiftKey || event.defaultPrevented) return;
  event.preventDefault();
  // Another dialog is open.
  if (document.querySelector('[role="dialog"]') === null) open();
}

type Props = {
  readonly views: readonly NavigationEntry[];
  readonly input: RefObject<HTMLInputElement | null>;
};

function Searching({ views, input }: Props) {
  const [search, setSearch] = useState('');
  const [openedAt] = useState(() => new Date());
  const status = useStatus().value;
  const people = usePeople();
  const names = useMemo(() => [...namesOf(views, status), ...people], [views, status, people]);
  const finding = useFinding(search);
  const groups = groupsOf([...daysNamed(search, openedAt), ...namedSo(names, search)], finding);
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <Choices
        label="Search"
        input={input}
        search={search}
        onSearch={setSearch}
        charactersMax={searchCharactersMax}
        groups={groups}
        onDone={close}
      />
      <Refusal refused={finding.refused} />
      <Progress
        finding={finding}
        isSearching={search.trim() !== ''}
        isEmpty={groups.length === 0}
      />
      <Reach />
    </div>
  );
}

type ProgressProps = {
  readonly finding: Finding;
  readonly isSearching: boolean;
  readonly isEmpty: boolean;
};

/** The progress of the search. Screen readers announce it after a pause in typing. */
function Progress({ finding, isSearching, isEmpty }: ProgressProps) {
  const { isAsking, unfinished, older, refused } = finding;
  const none = isEmpty && isSearching && !isAsking && refused === null;
  return (
    <div role="status" className="flex flex-wrap items-center gap-2 text-sm text-soft">
      {isAsking ? <span>Searching …</span> : null}
      {none ? <span>Nothing found.</span> : null}
      {unfinished === null ? null : <span>{unfinishedWords(unfinished.indexedSince)}</span>}
      {older === null ? null : (
        <Button small onClick={older}>
          Look further back
        </Button>
      )}
    </div>
  );
}

function unfinishedWords(since: number | null): string {
  return since === null
    ? 'svc is still reading in what was said: not every text is found yet.'
    : `svc is still reading in what was said: so far texts since ${moment(since)} are found.`;
}

/** Explains the scope of the search, which depends on the sign-in. */
function Reach() {
  const token = useToken((state) => state.token);
  const wayIn = useWayIn();
  if (token !== null) {
    return (
      <p className="text-sm text-soft">
        Names, ids, senders, conversations, commands such as /new, and the beginnings of words that
        were said. A day, such as “last tuesday” or “3 november”, leads to its messages. Names are
        those of the newest 200 messages and of people who were let in. The audit keeps that you
        searched, and not for what.
      </p>
    );
  }
  const signIn = (): void => {
    close();
    askToSignIn();
  };
  return (
    <div className="flex flex-wrap items-center gap-2 text-sm text-soft">
      <p>
        Finds views, channels, brains, models, days, and the ids of messages. Signed in, you also
        find senders, conversations, commands and what was said.
      </p>
      <Button small onClick={signIn}>
        {wayIn}
      </Button>
    </div>
  );
}
