/**
 * Asks the service for facts about the draft that no page can know: folders and files where svc
 * runs.
 */
import { useEffect } from 'react';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { ask } from '../../kit/api.ts';
import { problemsNow, reportFacts, useDraft } from './store.ts';

type Answer = { readonly problems: readonly ConfigProblem[] };

const restMs = 500;

/** Asks whenever the page itself finds no error and the service answers. Use it once. */
export function useFactsAsked(): void {
  const text = useDraft((state) => state.text);
  useEffect(() => {
    const giveUp = new AbortController();
    const timer = setTimeout(() => void askFacts(text, giveUp.signal), restMs);
    return () => {
      clearTimeout(timer);
      giveUp.abort();
    };
  }, [text]);
}

/**
 * Asks about the files of a draft without errors; the service checks the files of no other draft.
 */
async function askFacts(text: string, signal: AbortSignal): Promise<void> {
  if (problemsNow().some(({ severity }) => severity === 'error')) return;
  const { document } = useDraft.getState();
  const question = { method: 'POST', body: text, signal } as const;
  const answer = await ask<Answer>('config/validate', question);
  if (answer.kind === 'ok' && !signal.aborted) reportFacts(document, answer.value.problems);
}
