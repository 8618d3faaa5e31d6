/**
 * Where the variables of a draft are set, by the service's answer. Their values never come to the
 * page.
 */
import { useEffect } from 'react';
import { create } from 'zustand';
import { formatFault } from '../../../src/config/formats.ts';
import type { SecretPresence } from '../../../src/admin/secret-control.ts';
import type { Json } from '../../../src/config/locate.ts';
import { ask } from '../../kit/api.ts';
import { useDraft } from '../document/store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList } from '../document/value.ts';

type Answer = { readonly rows: readonly SecretPresence[] };

type Presence = {
  readonly known: ReadonlyMap<string, SecretPresence>;
  /** Increases when a value was set, so that the page asks again for all. */
  readonly round: number;
};
export const usePresence = create<Presence>(() => ({ known: new Map(), round: 0 }));

/** Call it after a value was set. */
export const askAgain = (): void => usePresence.setState(({ round }) => ({ round: round + 1 }));

const restMs = 300;
const namesMax = 200;

/** Names of variables in a document, each once, without any text that may be a secret. */
export function namesIn(value: Json): readonly string[] {
  const found = new Set<string>();
  const take = (name: Json): void => {
    if (typeof name !== 'string') walk(name);
    else if (name !== '' && formatFault('env', name) === null) found.add(name);
  };
  const walk = (at: Json): void => {
    if (isList(at)) for (const one of at) walk(one);
    else if (isObject(at)) {
      for (const [key, inner] of Object.entries(at)) {
        if (key === 'env' && isObject(inner)) Object.values(inner).forEach(take);
        else if (!key.endsWith('_env')) walk(inner);
        else take(inner);
      }
    }
  };
  walk(value);
  return [...found].sort();
}

/** Asks the service again when the draft's variables change. Use it once. */
export function usePresenceAsked(): void {
  const names = useDraft((state) => namesIn(state.document).slice(0, namesMax).join(' '));
  const round = usePresence((state) => state.round);
  useEffect(() => {
    if (names === '') return undefined;
    const giveUp = new AbortController();
    const timer = setTimeout(() => {
      void askPresence(names.split(' '), giveUp.signal);
    }, restMs);
    return () => {
      clearTimeout(timer);
      giveUp.abort();
    };
    // A new round asks again for all.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [names, round]);
}

async function askPresence(names: readonly string[], signal: AbortSignal): Promise<void> {
  const question = { method: 'POST', body: { names }, signal } as const;
  const answer = await ask<Answer>('secrets/presence', question);
  if (answer.kind === 'refused') return;
  const known = answer.value.rows.map((row) => [row.name, row] as const);
  usePresence.setState({ known: new Map(known) });
}
