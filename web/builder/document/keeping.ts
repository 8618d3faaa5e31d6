/** Keeps the draft while it is written, and knows what was kept before. */
import { useEffect } from 'react';
import { create } from 'zustand';
import { KeptDrafts, type KeptDraft, type Unkept } from './kept.ts';
import { isDirty, useDraft, type Base } from './store.ts';

type Keeping = {
  /** The draft goes on from this one, and the person has not said that they saw it. */
  readonly resumed: KeptDraft | null;
  /**
   * Drafts of other tabs and earlier visits that wait for a word: newest first as the page opened,
   * then those that came since. A person decides about the first one, so a new draft is never put
   * before it.
   */
  readonly offered: readonly KeptDraft[];
  /** Why the draft is not kept as it is; null: it is kept, or there is none. */
  readonly unkept: Unkept | null;
};

const nothing: Keeping = { resumed: null, offered: [], unkept: null };

export const useKeeping = create<Keeping>(() => nothing);

const drafts = new KeptDrafts(
  () => sessionStorage,
  () => localStorage,
);
const restMs = 400;
/**
 * Ids and texts of drafts that are not to be offered again while this page shows what is in use.
 * Texts, since a draft has another id after a reload of its tab.
 */
const aside = new Set<string>();

/** Opens what is in use, or the draft that this tab had of it. */
export function openDraft(base: Base): void {
  const { resumed, offered } = drafts.begin(base);
  aside.clear();
  useDraft.getState().open(base, resumed?.text ?? base.text);
  useKeeping.setState({ resumed, offered, unkept: null });
}

/** The draft stays kept where it can be; nothing of it stays in the page. */
export function closeDraft(): void {
  keepNow();
  useDraft.getState().close();
  useKeeping.setState(nothing);
}

/** @returns why the draft is not kept as it is now; null where nothing would be lost */
export function keepNow(): Unkept | null {
  const unkept = drafts.keep(useDraft.getState());
  useKeeping.setState({ unkept });
  return unkept;
}

/** Drafts that this browser keeps now, of all tabs and visits. */
export function keptCount(): number {
  return drafts.count;
}

/** Nothing of any draft stays in this browser, but what other tabs have open. */
export function throwAllAway(): void {
  useDraft.getState().close();
  drafts.forgetAll();
}

/**
 * Offers what other tabs keep now. A browser tells a page of another tab's draft a moment later, so
 * the first look may have missed one that is seconds old.
 */
function lookAgain(): void {
  const { base, text: own } = useDraft.getState();
  if (base === null) return;
  const waiting = drafts.others(base).filter(({ id, text }) => {
    if (aside.has(text)) aside.add(id);
    return text !== own && !aside.has(id);
  });
  const { offered: before } = useKeeping.getState();
  const stayed = before.flatMap(({ id }) => waiting.filter((kept) => kept.id === id));
  const come = waiting.filter((kept) => !stayed.includes(kept));
  useKeeping.setState({ offered: [...stayed, ...come] });
}

/**
 * Keeps the draft while it says something else than what is in use, and heeds what other tabs do
 * with theirs; to be used once.
 */
export function useKeepingUp(): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = useDraft.subscribe((draft, before) => {
      if (draft.text === before.text && draft.base === before.base) return;
      clearTimeout(timer);
      // A text that is no JSON is not kept. The text before it is kept, though it had no time to
      // rest.
      if (before.readable && !draft.readable && draft.base === before.base) drafts.keep(before);
      timer = setTimeout(keepNow, restMs);
    });
    const leaving = (event: BeforeUnloadEvent): void => {
      keepNow();
      if (isDirty(useDraft.getState())) event.preventDefault();
    };
    addEventListener('beforeunload', leaving);
    addEventListener('storage', lookAgain);
    lookAgain();
    return () => {
      stop();
      clearTimeout(timer);
      removeEventListener('beforeunload', leaving);
      removeEventListener('storage', lookAgain);
    };
  }, []);
}

export function goOn(): void {
  useKeeping.setState({ resumed: null });
}

/** The person does not want the draft that the page went on with. */
export function dropResumed(): void {
  const { base, replace } = useDraft.getState();
  if (base !== null) replace(base.text);
  drafts.forgetOwn();
  goOn();
}

/** An offered draft becomes this page's draft; the text before can be had again by Undo. */
export function takeUp(kept: KeptDraft): void {
  useDraft.getState().replace(kept.text);
  if (keepNow() === null) throwAway(kept);
  else setAside(kept);
}

export function throwAway(kept: KeptDraft): void {
  drafts.forget(kept.id);
  lookAgain();
}

/** The draft stays kept, and is offered again at the next visit. */
export function setAside({ id, text }: KeptDraft): void {
  aside.add(id).add(text);
  lookAgain();
}
