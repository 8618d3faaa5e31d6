/**
 * The draft: the configuration that a person edits. Its text is the only state; outline, graph,
 * forms and JSON are views of it. Undo and redo restore texts byte for byte; they do not change the
 * selection.
 */
import { temporal } from 'zundo';
import { create, useStore } from 'zustand';
import type { ConfigInUse } from '../../../src/config/config-control.ts';
import {
  ProblemList,
  byPlace,
  type ConfigProblem,
  type ProblemCode,
} from '../../../src/config/problems.ts';
import { locate, type Json, type JsonObject } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import { editText, type Edit } from '../../../src/config/edit/edit-text.ts';
import { keysAt } from './fields.ts';
import { pathOf, type Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isEqual, valueAt } from './value.ts';

/** The configuration that the service has in use, from which the draft began. */
export type Base = {
  readonly revision: string;
  readonly text: string;
  readonly place?: ConfigInUse['place'];
  /** null: no file holds it. */
  readonly file: string | null;
  readonly usedAt: number;
};

type Written = {
  readonly text: string;
  /** The parsed text; while the text is no JSON object, the last one that was. */
  readonly document: JsonObject;
  /**
   * False: the text is no JSON object. Forms and graph show the last document and are read-only.
   */
  readonly readable: boolean;
};

export type Facts = {
  readonly of: JsonObject;
  readonly problems: readonly ConfigProblem[];
};

export type Draft = Written & {
  /** null: nothing is loaded. */
  readonly base: Base | null;
  /** The problems of the text a moment ago. `problemsNow` checks at once. */
  readonly problems: readonly ConfigProblem[];
  /** Problems that only the service can find, with the document that it checked. */
  readonly facts: Facts | null;
  readonly selection: Path;
  /** Begins with the configuration in use, or with a draft of it. Clears the history. */
  readonly open: (base: Base, text?: string) => void;
  /** Removes the draft, its base and the history. */
  readonly close: () => void;
  /** Makes the text the new base, after the service took it into use. The history stays. */
  readonly rebase: (base: Base) => void;
  /**
   * Applies edits of the text as one step of the history: all of them or none.
   * @param group steps of the same group, shortly after each other, become one step
   */
  readonly apply: (edits: readonly Edit[], group?: string) => boolean;
  readonly edit: (path: Path, value: Json, group?: string) => boolean;
  readonly remove: (path: Path, group?: string) => boolean;
  readonly insert: (list: Path, index: number, value: Json) => boolean;
  readonly move: (list: Path, from: number, to: number) => boolean;
  /** Replaces the whole text: from the JSON tab, or by a template. */
  readonly replace: (text: string, group?: string) => void;
  readonly select: (path: Path) => void;
};

const stepsMax = 500;
const groupMs = 1_500;
const checkMs = 120;

/** The group of the last step; the same group before `until` makes no new step. */
let group: { readonly name: string; readonly until: number } | null = null;
let pending: string | null = null;

export const useDraft = create<Draft>()(
  temporal(
    (set, get) => {
      const become = (text: string, name: string | null = null): void => {
        pending = name;
        set(written(text, get().document));
      };
      const apply = (edits: readonly Edit[], name?: string): boolean => {
        const { text, readable } = get();
        let after: string | null = readable ? text : null;
        for (const edit of edits) after = after === null ? null : editText(after, edit, keysAt);
        if (after === null) return false;
        if (after !== text) become(after, name);
        return true;
      };
      return {
        ...written('{}', {}),
        base: null,
        problems: [],
        facts: null,
        selection: [],
        open(base, text = base.text) {
          const document = written(base.text, {}).document;
          const problems = problemsOf(text, null);
          set({ ...written(text, document), base, selection: [], problems, facts: null });
          useDraft.temporal.getState().clear();
          group = null;
        },
        close() {
          set({ ...written('{}', {}), base: null, selection: [], problems: [], facts: null });
          useDraft.temporal.getState().clear();
        },
        rebase: (base) => set({ base }),
        apply,
        edit: (path, value, name) => apply([{ kind: 'set', path, value }], name),
        remove: (path, name) => apply([{ kind: 'remove', path }], name),
        insert: (list, index, value) => apply([{ kind: 'insert', list, index, value }]),
        move: (list, from, to) => apply([{ kind: 'move', list, from, to }]),
        replace: become,
        select: (path) => set({ selection: path }),
      };
    },
    {
      partialize: ({ text, document, readable }): Written => ({ text, document, readable }),
      equality: (a, b) => a.text === b.text,
      limit: stepsMax,
      handleSet: (keep) => (before) => {
        const now = Date.now();
        const goesOn = group !== null && group.name === pending && now < group.until;
        group = pending === null ? null : { name: pending, until: now + groupMs };
        pending = null;
        if (!goesOn) keep(before);
      },
    },
  ),
);

let checking: ReturnType<typeof setTimeout> | undefined;
useDraft.subscribe(({ text }, before) => {
  if (text === before.text) return;
  clearTimeout(checking);
  checking = setTimeout(problemsNow, checkMs);
});

export function undo(): void {
  group = null;
  useDraft.temporal.getState().undo();
}

export function redo(): void {
  group = null;
  useDraft.temporal.getState().redo();
}

/** The number of steps to undo and to redo. */
export function useHistory(): { readonly past: number; readonly future: number } {
  const past = useStore(useDraft.temporal, (state) => state.pastStates.length);
  const future = useStore(useDraft.temporal, (state) => state.futureStates.length);
  return { past, future };
}

/** Checks the text as it is now, without a delay. */
export function problemsNow(): readonly ConfigProblem[] {
  const { text, facts } = useDraft.getState();
  const problems = problemsOf(text, facts);
  useDraft.setState({ problems });
  return problems;
}

/** Takes the service's problems of a document, except those that the page finds itself. */
export function reportFacts(of: JsonObject, found: readonly ConfigProblem[]): void {
  const known = new Set(problemsOf(useDraft.getState().text, null).map(nameOf));
  const problems = found.filter((problem) => !known.has(nameOf(problem)));
  useDraft.setState({ facts: { of, problems } });
  problemsNow();
}

/** Whether the draft differs from the configuration in use. */
export function isDirty({ base, text, document, readable }: Draft): boolean {
  if (base === null || text === base.text) return false;
  return !readable || !isEqual(document, baseDocument(base));
}

const documents = new WeakMap<Base, JsonObject>();

/** The document of the configuration in use. */
export function baseDocument(base: Base): JsonObject {
  const known = documents.get(base);
  if (known !== undefined) return known;
  const { document } = written(base.text, {});
  documents.set(base, document);
  return document;
}

/** Keeps the service's problems until it answers again, except at places that changed since. */
function problemsOf(text: string, facts: Facts | null): readonly ConfigProblem[] {
  const { problems } = validateText(text);
  if (facts === null || facts.problems.length === 0) return problems;
  const { value, places } = locate(text);
  const held = new ProblemList(text, places);
  for (const { code, path, message, remedy } of facts.problems) {
    const place = pathOf(path);
    if (value === undefined || !isEqual(valueAt(value, place), valueAt(facts.of, place))) continue;
    held.add(code as ProblemCode, path, message, remedy);
  }
  return [...held.sorted(), ...problems].sort(byPlace);
}

const nameOf = ({ code, path, message }: ConfigProblem): string => `${code} ${path} ${message}`;

function written(text: string, before: JsonObject): Written {
  const { value } = locate(text);
  return isObject(value)
    ? { text, document: value, readable: true }
    : { text, document: before, readable: false };
}
