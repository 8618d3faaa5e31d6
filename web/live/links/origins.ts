/**
 * The senders and conversations of messages, for the operator. An origin never changes, so the page
 * reads each once, and reads those of one moment together.
 */
import { useEffect } from 'react';
import { create } from 'zustand';
import { originsMax, type MessageOrigin } from '../../../src/domain/story.ts';
import { ask } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';

/** Beyond this number, all are forgotten and read again. */
const knownMax = 12_000;
/** The time in which further messages join a request. */
const togetherMs = 50;

type Known = { readonly origins: ReadonlyMap<string, MessageOrigin | null> };

const useKnown = create<Known>(() => ({ origins: new Map() }));
const wanted = new Set<string>();
const asked = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

// After a sign-out, nothing is remembered.
useToken.subscribe(() => {
  wanted.clear();
  asked.clear();
  useKnown.setState({ origins: new Map() });
});

/** @returns null: nobody is signed in, the origin is gone, or it is being read */
export function useOrigin(message: string | null): MessageOrigin | null {
  const isOperator = useToken(({ token }) => token !== null);
  const origin = useKnown(({ origins }) => (message === null ? null : origins.get(message)));
  const isUnknown = isOperator && origin === undefined;
  useEffect(() => {
    if (isUnknown && message !== null) want(message);
  }, [isUnknown, message]);
  return origin ?? null;
}

/** The origins that are known so far. */
export const useOrigins = (): Known['origins'] => useKnown(({ origins }) => origins);

/** Reads the origins of messages that are not known yet. */
export function readOrigins(messages: readonly string[]): void {
  const { origins } = useKnown.getState();
  for (const message of messages) if (!origins.has(message)) want(message);
}

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
  const { token } = useToken.getState();
  const path = `messages/origins?ids=${ids.join(',')}`;
  const answer = await ask<{ readonly rows: readonly MessageOrigin[] }>(path);
  if (answer.kind === 'refused' || useToken.getState().token !== token) return;
  const before = useKnown.getState().origins;
  const origins = new Map(before.size > knownMax ? [] : before);
  for (const id of ids) origins.set(id, null);
  for (const row of answer.value.rows) origins.set(row.id, row);
  useKnown.setState({ origins });
}
