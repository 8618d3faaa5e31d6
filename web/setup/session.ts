/** The way as the service tells it: the page that is shown, and the answers to it. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Answer, Frontend, Page } from '../../apps/setup/setup.ts';
import type { WizardState } from '../../apps/setup/browser/wizard.ts';
import { ask, type Answered } from '../kit/api.ts';

export type Session = {
  /** Null before the first. */
  readonly state: WizardState | null;
  /** Why nothing new can come; null: all is well. */
  readonly lost: string | null;
  /**
   * @param revision of the page that was answered: another may have come since
   * @returns why it was not taken, as a sentence; null: it was
   */
  readonly answer: (answer: Answer, revision: number) => Promise<string | null>;
};

/** A question waits up to 20 s for something new; a machine that was asleep takes longer. */
const waitLimitMs = 60_000;
const pauseMs = 2_000;

/** There is nothing more to come, so nobody is asked. */
const isLast = ({ step, work, choices }: Page): boolean =>
  step === 'last' && work === null && choices.length === 0;

/** Follows the way while somebody is signed in. */
export function useSession(): Session {
  const [state, setState] = useState<WizardState | null>(null);
  const [lost, setLost] = useState<string | null>(null);
  const newest = useRef<WizardState | null>(null);
  /** @returns whether an answer came that shows a state */
  const take = useCallback((answer: Answered<WizardState>): boolean => {
    if (answer.kind === 'ok') {
      if ((newest.current?.revision ?? 0) < answer.value.revision) {
        newest.current = answer.value;
        setState(answer.value);
      }
      setLost(null);
      return true;
    }
    return false;
  }, []);
  useEffect(() => {
    const over = new AbortController();
    const { signal } = over;
    const follow = async (): Promise<void> => {
      while (!signal.aborted) {
        const known = newest.current;
        if (known !== null && isLast(known.page)) return;
        const after = known === null ? '' : `?after=${known.revision}`;
        const answer = await ask<WizardState>(`setup${after}`, { signal, limitMs: waitLimitMs });
        if (signal.aborted || take(answer)) continue;
        if (answer.kind === 'refused') setLost(describeGone(newest.current?.frontend));
        await rest(pauseMs, signal);
      }
    };
    void follow();
    return () => over.abort();
  }, [take]);
  const answer = useCallback(
    async ({ choice, fields }: Answer, revision: number): Promise<string | null> => {
      const body = { revision, choice, fields };
      const sent = await ask<WizardState>('setup/answer', { method: 'POST', body });
      if (take(sent) || sent.kind === 'ok') return null;
      return sent.status === 0 ? describeGone(newest.current?.frontend) : sent.detail;
    },
    [take],
  );
  return { state, lost, answer };
}

function describeGone(frontend: Frontend | undefined): string {
  const what = 'svc does not answer.';
  if (frontend === 'window') return `${what} Open svc again from the desktop.`;
  return `${what} Look in the terminal where svc init runs: if it has ended, run it again.`;
}

function rest(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    ended.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
