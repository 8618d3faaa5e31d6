/** Saves the draft in the browser as the person types, and offers drafts that it saved before. */
import { useEffect } from 'react';
import { create } from 'zustand';
import { KeptDrafts, type KeptDraft, type Unkept } from './kept.ts';
import { isDirty, useDraft, type Base } from './store.ts';

type Keeping = {
  /**
   * The saved draft that this page continues, until the person has confirmed the notice about it.
   */
  readonly resumed: KeptDraft | null;
  /**
   * Saved drafts of other tabs and earlier visits that the person can take up. The list begins with
   * those that were there when the page opened, newest first; later ones follow. The person decides
   * about the first one, so a new draft never comes before it.
   */
  readonly offered: readonly KeptDraft[];
  /** Why the browser does not hold the draft as it is now; null: it does, or there is no draft. */
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
 * Ids and texts of drafts that the page does not offer again while the same configuration is in
 * use. The set has texts too, since a draft gets a new id when its tab reloads.
 */
const aside = new Set<string>();

/** Opens the configuration in use, or the saved draft that this tab had of it. */
export function openDraft(base: Base): void {
  const { resumed, offered } = drafts.begin(base);
  aside.clear();
  useDraft.getState().open(base, resumed?.text ?? base.text);
  useKeeping.setState({ resumed, offered, unkept: null });
}

/** Empties the page. The draft stays saved in the browser where possible. */
export function closeDraft(): void {
  keepNow();
  useDraft.getState().close();
  useKeeping.setState(nothing);
}

/** @returns why the draft could not be saved as it is now; null if nothing would be lost */
export function keepNow(): Unkept | null {
  const unkept = drafts.keep(useDraft.getState());
  useKeeping.setState({ unkept });
  return unkept;
}

/** The number of saved drafts in this browser, of all tabs and visits. */
export function keptCount(): number {
  return drafts.count;
}

/** Deletes every draft from the browser's storage. Other tabs keep the draft that is open there. */
export function throwAllAway(): void {
  useDraft.getState().close();
  drafts.forgetAll();
}

/**
 * Offers the drafts that other tabs have saved by now. A browser shows a page the draft of another
 * tab with a delay, so the first read can miss a draft that is seconds old.
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
 * Saves the draft while it differs from the configuration in use, and follows the drafts of other
 * tabs. Use it once.
 */
export function useKeepingUp(): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = useDraft.subscribe((draft, before) => {
      if (draft.text === before.text && draft.base === before.base) return;
      clearTimeout(timer);
      // A text that is no JSON is not saved. Save the text before it, whose delay had not passed
      // yet.
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

/** Drops the saved draft that the page continued. */
export function dropResumed(): void {
  const { base, replace } = useDraft.getState();
  if (base !== null) replace(base.text);
  drafts.forgetOwn();
  goOn();
}

/** Makes an offered draft this page's draft; Undo brings the former text back. */
export function takeUp(kept: KeptDraft): void {
  useDraft.getState().replace(kept.text);
  if (keepNow() === null) throwAway(kept);
  else setAside(kept);
}

export function throwAway(kept: KeptDraft): void {
  drafts.forget(kept.id);
  lookAgain();
}

/** Keeps the draft in the browser. The next visit offers it again. */
export function setAside({ id, text }: KeptDraft): void {
  aside.add(id).add(text);
  lookAgain();
}
