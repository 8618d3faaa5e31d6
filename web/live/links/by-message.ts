/**
 * What only the operator may know of a message, such as its sender. It never changes, so the page
 * reads it once for each message, and reads those of one moment together.
 */
import { useEffect } from 'react';
import { create } from 'zustand';
import { originsMax } from '../../../src/domain/story.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';

/** Beyond this number, all are forgotten and read again. */
const knownMax = 12_000;
/** The time in which further messages join a request. */
const togetherMs = 50;

type ByMessage<Row> = {
  /** @returns undefined: it is being read; null: svc does not keep it, or no message is given */
  readonly useRow: (message: string | null) => Row | null | undefined;
  /** Those that are known so far. */
  readonly useRows: () => ReadonlyMap<string, Row | null>;
  /** Reads those that are not known yet. */
  readonly read: (messages: readonly string[]) => void;
  /** Why the last request failed. */
  readonly useRefused: () => Refused | null;
  readonly forget: () => void;
};

/** @param pathNow returns the path of the API, to which the ids are added */
export function createByMessage<Row extends { readonly id: string }>(
  pathNow: () => string,
): ByMessage<Row> {
  type Known = { readonly rows: ReadonlyMap<string, Row | null>; readonly refused: Refused | null };
  const useKnown = create<Known>(() => ({ rows: new Map(), refused: null }));
  const wanted = new Set<string>();
  const asked = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** An answer to a question from before `forget` is ignored. */
  let forgotten = 0;

  function forget(): void {
    forgotten++;
    wanted.clear();
    asked.clear();
    useKnown.setState({ rows: new Map(), refused: null });
  }
  // After a sign-out, nothing is remembered.
  useToken.subscribe(forget);

  function want(message: string): void {
    if (asked.has(message)) return;
    wanted.add(message);
    timer ??= setTimeout(() => void askForAll(), togetherMs);
  }

  async function askForAll(): Promise<void> {
    timer = undefined;
    while (wanted.size > 0) {
      const ids = [...wanted].slice(0, originsMax);
      for (const id of ids) {
        wanted.delete(id);
        asked.add(id);
      }
      await askFor(ids);
      for (const id of ids) asked.delete(id);
    }
  }

  async function askFor(ids: readonly string[]): Promise<void> {
    const since = forgotten;
    const answer = await ask<{ rows: readonly Row[] }>(`${pathNow()}ids=${ids.join(',')}`);
    if (forgotten !== since) return;
    if (answer.kind === 'refused') return useKnown.setState({ refused: answer });
    const before = useKnown.getState().rows;
    const rows = new Map(before.size > knownMax ? [] : before);
    for (const id of ids) rows.set(id, null);
    for (const row of answer.value.rows) rows.set(row.id, row);
    useKnown.setState({ rows, refused: null });
  }

  function useRow(message: string | null): Row | null | undefined {
    const row = useKnown(({ rows }) => (message === null ? null : rows.get(message)));
    const isUnknown = row === undefined;
    useEffect(() => {
      if (isUnknown && message !== null) want(message);
    }, [isUnknown, message]);
    return row;
  }
  return {
    useRow,
    useRows: () => useKnown(({ rows }) => rows),
    read(messages) {
      const { rows } = useKnown.getState();
      for (const message of messages) if (!rows.has(message)) want(message);
    },
    useRefused: () => useKnown(({ refused }) => refused),
    forget,
  };
}
