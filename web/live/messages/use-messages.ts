/** The messages of a filter as React state. */
import { useCallback, useEffect, useState } from 'react';
import type { MessageFilter, MessageRow } from '../../../src/domain/records.ts';
import type { Refused } from '../../kit/api.ts';
import { useKeptThing } from '../../kit/entry.ts';
import { useFeed } from '../feed.ts';
import { MessageReader } from './message-reader.ts';

/** The interval of reads while the stream is closed, so that the list is not empty. */
const askEveryMs = 5_000;

export type Messages = {
  readonly reader: MessageReader;
  /** The messages that match, newest first. */
  readonly rows: readonly MessageRow[];
  readonly refused: Refused | null;
  /** True before the first answer. */
  readonly asking: boolean;
  /** Reads older messages; null: there are none, or they are being read. */
  readonly older: (() => void) | null;
  /** Whether older messages exist that are not in the list. */
  readonly hasOlder: boolean;
  /** True: the last page was empty, so only a press reads the next one. */
  readonly lastWasEmpty: boolean;
};

/**
 * The messages of a filter, updated by the event stream.
 * @param name of the filter, constant while the component is shown
 */
export function useMessages(name: string, filterNow: () => MessageFilter): Messages {
  const isOpen = useFeed(({ state }) => state === 'open');
  const reader = useKeptThing(`messages ${name}`, () => new MessageReader(filterNow()));
  const [shown, setShown] = useState(reader.shown);
  const [olderAsked, setOlderAsked] = useState(false);
  useEffect(() => reader.attach(setShown), [reader]);
  useEffect(() => {
    // From the open stream on, no event is missed, so one read gets the rest.
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
  const hasOlder = next !== null || reader.list.isFull;
  const canGoOn = next !== null && !olderAsked && !reader.list.isFull;
  return { reader, rows, refused, asking, hasOlder, lastWasEmpty, older: canGoOn ? older : null };
}
