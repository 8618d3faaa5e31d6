/**
 * A draft that survives a reload: kept by the browser with the revision that it began from. What
 * may be a secret in the wrong place is not kept, and a token never is part of a draft.
 */
import { useEffect } from 'react';
import { create } from 'zustand';
import { validateText } from '../../../src/config/validate.ts';
import { pathOf } from './path.ts';
import { isDirty, useDraft, type Draft } from './store.ts';

export type KeptDraft = {
  readonly text: string;
  readonly revision: string;
  readonly savedAt: number;
};

/** What there was when the page was opened; null: nothing, or the person has seen it. */
export const useKept = create<{ readonly kept: KeptDraft | null }>(() => ({ kept: null }));

const place = 'svc-builder-draft';
const restMs = 400;

/** null: there is none, or none that can be read. */
export function readKept(): KeptDraft | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(place) ?? 'null');
    if (typeof kept !== 'object' || kept === null) return null;
    const { text, revision, savedAt } = kept as Partial<Record<keyof KeptDraft, unknown>>;
    if (typeof text !== 'string' || typeof revision !== 'string') return null;
    return typeof savedAt === 'number' ? { text, revision, savedAt } : null;
  } catch {
    return null;
  }
}

export function forgetKept(): void {
  try {
    localStorage.removeItem(place);
  } catch {
    // A browser that keeps nothing has nothing to forget.
  }
}

/** Keeps the draft while it says something else than what is in use; to be used once. */
export function useKeeping(): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = useDraft.subscribe((draft, before) => {
      if (draft.text === before.text && draft.base === before.base) return;
      clearTimeout(timer);
      timer = setTimeout(() => keep(useDraft.getState()), restMs);
    });
    const leaving = (event: BeforeUnloadEvent): void => {
      const draft = useDraft.getState();
      keep(draft);
      if (isDirty(draft)) event.preventDefault();
    };
    addEventListener('beforeunload', leaving);
    return () => {
      stop();
      clearTimeout(timer);
      removeEventListener('beforeunload', leaving);
    };
  }, []);
}

/** Keeps the draft as it is now, or forgets it where it says what is in use. */
export function keep(draft: Draft): void {
  const { base, text, readable } = draft;
  if (base === null) return;
  if (!isDirty(draft)) return forgetKept();
  if (!readable || mayHoldSecret(text)) return;
  const kept: KeptDraft = { text, revision: base.revision, savedAt: Date.now() };
  try {
    localStorage.setItem(place, JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing, or no more: the draft lasts as long as the page.
  }
}

/** A value in the place of a name, or under a key that nobody but its writer knows. */
function mayHoldSecret(text: string): boolean {
  return validateText(text).problems.some(({ code, path }) => {
    if (code === 'value_not_name') return true;
    const key = String(pathOf(path).at(-1) ?? '');
    return code === 'unknown_key' && /token|secret|key|pass|auth/i.test(key);
  });
}
