/** Reads an API path and keeps its last answer. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { ask, type Refused } from './api.ts';
import { bearerOf, useToken } from './token.ts';

export type Asked<T> = {
  /** The last answer; null before the first. It stays when a later request fails. */
  readonly value: T | null;
  /** The time of the last answer in milliseconds since 1970; null before the first. */
  readonly answeredAt: number | null;
  readonly refused: Refused | null;
  /** Sends the request now. */
  readonly again: () => void;
};

/**
 * The answer of an API path. It is read again every `everyMs` while the page is visible, and at
 * once when the path changes or somebody signs in or out.
 * @param path below /api/v1/; null: no request
 */
export function useAsked<T>(path: string | null, everyMs: number | null = null): Asked<T> {
  const bearer = useToken(bearerOf);
  const [state, setState] = useState<{
    readonly of: string | null;
    readonly value: T | null;
    readonly answeredAt: number | null;
    readonly refused: Refused | null;
  }>({ of: null, value: null, answeredAt: null, refused: null });
  const [round, setRound] = useState(0);
  const asking = useRef<AbortController | null>(null);
  useEffect(() => {
    if (path === null) return undefined;
    const giveUp = new AbortController();
    asking.current = giveUp;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asked = false;
    const look = async (): Promise<void> => {
      if (document.hidden) return;
      asked = true;
      const answer = await ask<T>(path, { signal: giveUp.signal });
      if (giveUp.signal.aborted) return;
      setState((before) => {
        if (answer.kind === 'ok') {
          return { of: path, value: answer.value, answeredAt: Date.now(), refused: null };
        }
        const { value, answeredAt } = before.of === path ? before : nothing;
        return { of: path, value, answeredAt, refused: answer };
      });
      if (everyMs !== null) timer = setTimeout(() => void look(), everyMs);
    };
    const seen = (): void => {
      // A page in a background tab waits until it is visible.
      if (document.hidden || (everyMs === null && asked)) return;
      clearTimeout(timer);
      void look();
    };
    void look();
    document.addEventListener('visibilitychange', seen);
    return () => {
      giveUp.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
    // A new bearer or a new round starts again.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [path, everyMs, bearer, round]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  const { value, answeredAt, refused } = state.of === path ? state : nothing;
  return { value, answeredAt, refused, again };
}

const nothing = { value: null, answeredAt: null, refused: null };
