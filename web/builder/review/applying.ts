/**
 * Takes the draft or an earlier configuration into use, also while another tab of the builder is
 * open. States: idle → sending → applied or refused. If another person applied a configuration
 * meanwhile, there is a conflict until somebody chooses.
 */
import { create } from 'zustand';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { ask, longLimitMs, type Answered, type Refused } from '../../kit/api.ts';
import { bearerOf, useToken } from '../../kit/token.ts';
import { useDraft, type Base } from '../document/store.ts';
import { valueAt } from '../document/value.ts';
import { announce } from '../shell/announce.tsx';

/** The service's answer. */
type Taken = {
  readonly revision: string;
  readonly usedAt: number;
  readonly changes: readonly string[];
  readonly warnings: readonly ConfigProblem[];
};

export type ApplyState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'sending' }
  | (Of & { readonly kind: 'applied'; readonly taken: Taken; readonly what: What })
  /** `sent`: the text that was to be taken into use. */
  | (Of & { readonly kind: 'refused'; readonly refused: Refused; readonly sent: string });

/** What is in use now. `rest`: the changes of the draft that needed no restart. */
export type What = 'draft' | 'rest' | 'earlier';

/** The draft's text at the time of the attempt. */
type Of = { readonly text: string };

type Applying = {
  readonly state: ApplyState;
  /** The configuration in use, if it is no longer the draft's base. */
  readonly theirs: Base | null;
  /** The state that the person has seen; null: none yet. */
  readonly seen: ApplyState | null;
};

const idle = { state: { kind: 'idle' }, theirs: null } as const;

export const useApplying = create<Applying>(() => ({ ...idle, seen: null }));

const { getState: now, setState: become } = useApplying;

useToken.subscribe((signedIn) => {
  const { state } = now();
  // After a new sign-in, the message that the session ended goes away.
  const wasOut = state.kind === 'refused' && state.refused.status === 401;
  const isOver = wasOut && bearerOf(signedIn) !== null;
  if (signedIn.token === null || isOver) become(idle);
});

type Wish = {
  /**
   * Absent: the draft as it is. Otherwise a part of it; the remaining changes stay in the draft.
   */
  readonly text?: string;
  /**
   * The revision of a text that somebody wrote into the file by hand, and that this text may
   * replace. The service adds it to the history.
   */
  readonly edited?: string;
};

/** Takes the draft, or a part of it, into use. */
export async function apply({ text: part, edited }: Wish = {}): Promise<void> {
  const { base, text: draft } = useDraft.getState();
  if (base === null || now().state.kind === 'sending') return;
  const text = part ?? draft;
  become({ state: { kind: 'sending' } });
  const answer = await ask<Taken>(edited === undefined ? 'config' : `config?edited=${edited}`, {
    method: 'PUT',
    body: text,
    ifMatch: base.revision,
    limitMs: longLimitMs,
  });
  if (isOver(base)) return;
  if (answer.kind === 'ok') return taken(answer.value, text, text === draft ? 'draft' : 'rest');
  await refusedWith(answer, base, text, draft);
}

/**
 * Takes an earlier configuration into use. A draft that equals the configuration in use follows it.
 */
export async function restore(revision: string, text: string): Promise<void> {
  const { base, text: draft } = useDraft.getState();
  if (base === null || now().state.kind === 'sending') return;
  become({ state: { kind: 'sending' } });
  const answer: Answered<Taken> = await ask(
    `config/history/${encodeURIComponent(revision)}/restore`,
    { method: 'POST', ifMatch: base.revision, limitMs: longLimitMs },
  );
  if (isOver(base)) return;
  if (answer.kind === 'refused') return refusedWith(answer, base, text, draft);
  if (draft === base.text) useDraft.getState().replace(text);
  taken(answer.value, text, 'earlier');
}

/** Somebody signed out since the request: the next person sees the configuration in use. */
const isOver = (base: Base): boolean => useDraft.getState().base !== base;

function taken(value: Taken, text: string, what: What): void {
  const { base, rebase } = useDraft.getState();
  rebase({ ...base!, revision: value.revision, usedAt: value.usedAt, text });
  const { text: draft } = useDraft.getState();
  become({ state: { kind: 'applied', taken: value, what, text: draft }, theirs: null });
}

/**
 * Without an answer, the service may still have taken the draft: the configuration in use shows it.
 */
async function refusedWith(
  refused: Refused,
  base: Base,
  text: string,
  draft: string,
): Promise<void> {
  if (refused.code === 'revision_conflict' || refused.status === 0) {
    const used = await ask<Base>('config');
    if (isOver(base)) return;
    if (used.kind === 'ok') {
      if (used.value.text === text) {
        const { revision, usedAt } = used.value;
        const what = text === draft ? 'draft' : 'rest';
        return taken({ revision, usedAt, changes: [], warnings: [] }, text, what);
      }
      if (used.value.revision !== base.revision) {
        const isClean = draft === base.text;
        meet(used.value);
        // Then the refusal shows beside the configuration in use, and not with a text that is gone.
        const { text: theirs } = used.value;
        if (isClean) {
          return become({ state: { kind: 'refused', refused, text: theirs, sent: theirs } });
        }
      }
    }
  }
  become({ state: { kind: 'refused', refused, text: draft, sent: text } });
}

/** Checks whether the draft's base is still in use. */
export async function lookAgain(): Promise<void> {
  const used = await ask<Base>('config');
  if (used.kind === 'refused') {
    const { text } = useDraft.getState();
    return become({ state: { kind: 'refused', refused: used, text, sent: text } });
  }
  const isOther = used.value.revision !== useDraft.getState().base?.revision;
  become(idle);
  if (isOther) meet(used.value);
}

/** Like `lookAgain`, but reports nothing if nothing changed or the service does not answer. */
export async function noticeOthers(): Promise<void> {
  const { base } = useDraft.getState();
  const used = await ask<Base>('config');
  const hasMoved = useDraft.getState().base !== base || now().state.kind === 'sending';
  if (used.kind === 'refused' || base === null || hasMoved) return;
  if (used.value.revision !== base.revision) meet(used.value);
}

/**
 * Without changes in the draft there is nothing to choose: it becomes theirs. If theirs equals the
 * draft, somebody wrote the draft into the file by hand, and it is in use.
 */
function meet(theirs: Base): void {
  const { base, text, open, rebase, selection, select } = useDraft.getState();
  if (theirs.text === text) {
    rebase(theirs);
    become(idle);
    return announce('What you wrote here is in use now.');
  }
  if (text !== base?.text) return become({ theirs });
  become({ theirs: null });
  open(theirs);
  if (valueAt(useDraft.getState().document, selection) !== undefined) select(selection);
  announce('Somebody else has changed the configuration: theirs is shown now.');
}

/** Ends the conflict: the draft becomes a change of theirs. */
export function settle(theirs: Base, text: string): void {
  const { replace, rebase, text: draft } = useDraft.getState();
  if (text !== draft) replace(text);
  rebase(theirs);
  become(idle);
}
