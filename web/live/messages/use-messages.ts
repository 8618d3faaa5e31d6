import { useCallback, useEffect, useState } from 'react';
import type { MessageFilter, MessageRow } from '../../../src/domain/records.ts';
import type { Refused } from '../../kit/api.ts';
import { useKeptThing } from '../../kit/entry.ts';
import { useFeed } from '../feed.ts';
import type { MessageList } from './message-list.ts';
import { MessageReader } from './message-reader.ts';

/** How often to ask where the stream does not open, so that there is something to see. */
const askEveryMs = 5_000;

export type Messages = {
  readonly list: MessageList;
  /** Those that match, newest first. */
  readonly rows: readonly MessageRow[];
  readonly refused: Refused | null;
  /** Before the first answer. */
  readonly asking: boolean;
  /** Asks for older messages; null: there are none, or they are being asked for. */
  readonly older: (() => void) | null;
  /** A page that was asked for held nothing: only a person asks for the next one. */
  readonly lastWasEmpty: boolean;
};

/**
 * The messages of a filter, kept up to date by the stream of events.
 * @param name of the filter, which stays the same for as long as the component is shown
 */
export function useMessages(name: string, filterNow: () => MessageFilter): Messages {
  const isOpen = useFeed(({ state }) => state === 'open');
  const reader = useKeptThing(`messages ${name}`, () => new MessageReader(filterNow()));
  const [shown, setShown] = useState(reader.shown);
  const [olderAsked, setOlderAsked] = useState(false);
  useEffect(() => reader.attach(setShown), [reader]);
  useEffect(() => {
    // Nothing is missed once the stream is open, so what was before is read then.
    void reader.newest();
    if (isOpen) return undefined;
    const timer = setInterval(() => void reader.newest(), askEveryMs);
    return () => clearInterval(timer);
  }, [isOpen, reader]);
  const { rows, refused, asking, next, lastWasEmpty } = shown;
  const older = useCallback(() => {
    setOlderAsked(true);
    void reader.older().finally(() => setOlderAsked(false));
  }, [reader]);
  const { list } = reader;
  const canGoOn = next !== null && !olderAsked && !list.isFull;
  return { list, rows, refused, asking, older: canGoOn ? older : null, lastWasEmpty };
}
