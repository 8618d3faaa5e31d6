/** The session of the first run: the page that the service shows, and the person's answers. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Answer, Frontend, Page } from '../../apps/setup/setup.ts';
import type { WizardState } from '../../apps/setup/browser/wizard.ts';
import { ask, type Answered } from '../kit/api.ts';

export type Session = {
  /** null before the first answer of the service. */
  readonly state: WizardState | null;
  /** Why nothing new can come; null: the session goes on. */
  readonly lost: string | null;
  /**
   * @param revision of the answered page, since another may have come meanwhile
   * @returns a sentence that says why the service refused it; null: it accepted it
   */
  readonly answer: (answer: Answer, revision: number) => Promise<string | null>;
};

/** The service holds a request up to 20 s for news; a machine that slept takes longer. */
const waitLimitMs = 60_000;
const pauseMs = 2_000;

/** Nothing more can come, so the page stops asking. */
const isLast = ({ step, work, choices }: Page): boolean =>
  step === 'last' && work === null && choices.length === 0;

/** Follows the session while a person is signed in. */
export function useSession(): Session {
  const [state, setState] = useState<WizardState | null>(null);
  const [lost, setLost] = useState<string | null>(null);
  const newest = useRef<WizardState | null>(null);
  /** @returns whether the answer showed a state */
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
