/** CodeMirror with the page's colours, the draft's problems and the draft's history. */
import { json } from '@codemirror/lang-json';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { EditorState, Prec, type ChangeSet, type Text } from '@codemirror/state';
import { keymap } from '@codemirror/view';
import { basicSetup, EditorView } from 'codemirror';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { redo, undo, useDraft } from '../document/store.ts';
import type { TextPlace } from './showing.ts';

export type Editor = {
  /** Shows the text after another view changed it. */
  show(text: string): void;
  mark(problems: readonly ConfigProblem[]): void;
  goTo(place: TextPlace): void;
  close(): void;
};

/** @param root receives the styles */
export function openEditor(root: ShadowRoot, text: string): Editor {
  // The draft already has the editor's own changes.
  let isShowing = false;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of(historyKeys)),
        basicSetup,
        json(),
        lintGutter(),
        colours,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'The text of the configuration' }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || isShowing) return;
          const { text: before, replace } = useDraft.getState();
          replace(carryOver(before, update.changes), 'json');
        }),
      ],
    }),
  });
  view.scrollDOM.tabIndex = 0;
  return {
    show(next) {
      const shown = view.state.doc.toString();
      const wanted = next.replaceAll(lineEnds, '\n');
      if (shown === wanted) return;
      isShowing = true;
      view.dispatch({ changes: changeOf(shown, wanted) });
      isShowing = false;
    },
    mark(problems) {
      view.dispatch(setDiagnostics(view.state, problems.map(diagnosticIn(view.state.doc))));
    },
    goTo(place) {
      const at = offsetIn(view.state.doc, place);
      const effects = EditorView.scrollIntoView(at, { y: 'center' });
      view.dispatch({ selection: { anchor: at }, effects });
      view.focus();
    },
    close: () => view.destroy(),
  };
}

/** Undo and redo of the draft: all its views share one history. */
const historyKeys = [
  { key: 'Mod-z', run: () => (undo(), true), preventDefault: true },
  { key: 'Mod-Shift-z', run: () => (redo(), true), preventDefault: true },
  { key: 'Mod-y', run: () => (redo(), true), preventDefault: true },
];

/** CodeMirror treats each of these as one line end. */
const lineEnds = /\r\n?|\n/g;

/** Applies the editor's changes to the file's text. Unchanged lines keep their line ends. */
function carryOver(text: string, changes: ChangeSet): string {
  const lineEnd = /\r\n?|\n/.exec(text)?.[0] ?? '\n';
  // The index of the second character of each two-character line end; the editor counts one.
  const doubles = Array.from(text.matchAll(/\r\n/g), ({ index }) => index + 1);
  const inText = (at: number): number => {
    let offset = at;
    for (const double of doubles) {
      if (double > offset) break;
      offset++;
    }
    return offset;
  };
  let result = '';
  let done = 0;
  changes.iterChanges((from, to, _, __, inserted) => {
    result += text.slice(done, inText(from)) + inserted.toString().replaceAll('\n', lineEnd);
    done = inText(to);
  });
  return result + text.slice(done);
}

/** The one stretch that differs, so that the cursor stays at its place. */
function changeOf(before: string, after: string) {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let end = 0;
  while (end < most - from && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}

function offsetIn(doc: Text, { line, column }: TextPlace): number {
  const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
  return Math.min(to, from + Math.max(0, column - 1));
}

function diagnosticIn(doc: Text) {
  return (problem: ConfigProblem): Diagnostic => {
    const from = offsetIn(doc, problem);
    const { to: lineEnd } = doc.lineAt(from);
    // The mark ends with the word, the quoted text, or the sign.
    const word = /^(?:"(?:[^"\\]|\\.)*"|[\w.+-]+|.)/.exec(doc.sliceString(from, lineEnd));
    const { severity, message, remedy } = problem;
    const to = from + (word?.[0].length ?? 0);
    return { from, to, severity, message: `${message}. ${remedy}` };
  };
}

const colours = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--card)', fontSize: '14px' },
  '.cm-scroller': {
    fontFamily: "ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace",
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': {
    backgroundColor: 'var(--paper)',
    color: 'var(--soft)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection': {
    backgroundColor: 'var(--accent-ground) !important',
  },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--card)',
    color: 'var(--ink)',
    borderColor: 'var(--edge)',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--wait)' },
  '.cm-lintRange-error': { backgroundImage: 'none', borderBottom: '2px solid var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', borderBottom: '2px dashed var(--wait)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--raised)', color: 'var(--soft)', border: 'none' },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--raised)',
    color: 'var(--ink)',
    border: '1px solid var(--edge)',
  },
  '.cm-textfield': {
    backgroundColor: 'var(--card)',
    color: 'var(--ink)',
    border: '1px solid var(--edge)',
  },
  '.cm-panel.cm-search, .cm-panel.cm-search :is(input, button, label)': { fontSize: '14px' },
  '.cm-panel.cm-search [name=close]': { color: 'var(--ink)' },
  '.cm-searchMatch': { backgroundColor: 'var(--wait-ground)' },
  '.cm-selectionMatch, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--raised)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent-ground)',
    color: 'var(--ink)',
  },
  // The highlighter's classes for keys, texts, numbers and words, in colours of the page.
  '.ͼc, .ͼl': { color: 'var(--link)' },
  '.ͼe': { color: 'var(--good)' },
  '.ͼd, .ͼb': { color: 'var(--wait)' },
});
