/** The result of the last preflight. It survives a change of the builder's tab. */
import { create } from 'zustand';
import type { Preflighted } from '../../../src/admin/config-trials.ts';
import { ask, longLimitMs, type Answered } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';
import { useDraft } from '../document/store.ts';
import { useApplying, type ApplyState } from './applying.ts';

export type Preflight = {
  /** The draft that the service checked. */
  readonly text: string;
  readonly answer: Answered<Preflighted>;
  /** The state of the last attempt to apply at that time. */
  readonly after: ApplyState;
};

type Preflighting = { readonly busy: boolean; readonly last: Preflight | null };

export const usePreflight = create<Preflighting>(() => ({ busy: false, last: null }));

useToken.subscribe(({ token }) => {
  if (token === null) usePreflight.setState({ last: null });
});

/**
 * Asks the service to check the secrets, addresses, models and receivers of the draft. Nobody gets
 * the text of a conversation.
 */
export async function runPreflight(): Promise<void> {
  const { text } = useDraft.getState();
  const { state: after } = useApplying.getState();
  usePreflight.setState({ busy: true });
  const answer = await ask<Preflighted>('config/preflight', {
    method: 'POST',
    body: text,
    limitMs: longLimitMs,
  });
  usePreflight.setState({ busy: false, last: { text, answer, after } });
}

/** Why svc would refuse the draft as it is, by the last preflight or attempt; null: not known. */
export function useRefusalKnown(): string | null {
  const text = useDraft((state) => state.text);
  const { last } = usePreflight();
  const applying = useApplying(({ state }) => state);
  const found = last !== null && last.text === text && last.answer.kind === 'ok' ? last : null;
  if (found !== null && found.answer.kind === 'ok') {
    if (found.answer.value.lines.some(({ refuses }) => refuses)) return foundSo;
    if (found.after === applying) return null;
  }
  const isRefused =
    applying.kind === 'refused' && applying.refused.status === 422 && applying.sent === text;
  return isRefused ? refusedSo : null;
}

const foundSo = 'svc refuses it for what the preflight found: mend that, and run it again.';
const refusedSo = 'svc refused it as it is: change it, or mend that and run the preflight.';
