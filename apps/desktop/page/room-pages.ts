/** The other pages of the application: log, configuration and settings. */
import type { ApplicationFacts, OnClose, StuckProblem, WindowKind } from '../desktop.ts';
import type { Earlier, LogLines, LogName } from '../repairs/repairs.ts';
import {
  linesOf,
  link,
  pageOf,
  paragraph,
  press,
  row,
  section,
  html,
  verbatim,
  type Notice,
  type Markup,
} from './frame.ts';
import { problemList, takeBack } from './state-page.ts';

export function logPage(log: LogName, { file, lines }: LogLines, notice: Notice | null): string {
  const [title, other] =
    log === 'service'
      ? (['Log', link('log?of=application', 'Of the window instead')] as const)
      : (['Log of the window', link('log', 'Of svc itself instead')] as const);
  const body = section(
    'The last lines',
    lines.length === 0 ? paragraph('Nothing was written yet.') : linesOf(lines, 'The last lines'),
    html`<p class="soft">${file}</p>`,
    row(
      link(log === 'service' ? 'log' : 'log?of=application', 'Look again', true),
      press('open-logs', 'Open its folder'),
      other,
    ),
  );
  return pageOf({ title, body, room: 'log', notice });
}

export type Editing = {
  readonly file: string;
  /** null: the file cannot be read, and `notice` says why. */
  readonly text: string | null;
  /** The revision of the text on disk. */
  readonly revision: string;
  readonly problems: readonly StuckProblem[];
  readonly earlier: readonly Earlier[];
};

export function configurationPage(
  { file, text, revision, problems, earlier }: Editing,
  notice: Notice | null,
): string {
  const where = section(
    'The file',
    html`<p><code>${file}</code></p>`,
    press('open-folder', 'Open its folder'),
  );
  const wrong = problems.length === 0 ? [] : [section('Not saved yet', problemList(problems))];
  const edit = text === null ? [] : [editor(text, revision)];
  const body = [...wrong, ...edit, where, ...takeBack(earlier)];
  return pageOf({ title: 'Configuration', body, room: 'configuration', notice });
}

/** A line end right after the tag is not part of the text. */
function editor(text: string, revision: string): Markup {
  return section(
    'Change it',
    paragraph(
      'It is checked before it is saved, and the text of before is kept. Secrets do not belong ' +
        'here: the configuration has their names alone.',
    ),
    html`<form method="post" action="configuration">
      <input type="hidden" name="revision" value="${revision}" />
      <label class="field"
        >Text of the configuration
        <textarea name="text" spellcheck="false" autocomplete="off" wrap="off">
${verbatim(text)}</textarea>
      </label>
      <button class="main">Save and start again</button>
    </form>`,
  );
}

const closings: readonly (readonly [OnClose, string])[] = [
  ['ask', 'Ask me'],
  ['keep', 'svc keeps answering in the background'],
  ['quit', 'svc ends'],
];

const shownBy: Readonly<Record<WindowKind, string>> = {
  webview: 'a window of its own',
  chromium: 'a window of the Chromium or Chrome on this machine',
  browser: 'a page of your browser',
};

export function settingsPage(
  { onClose, autostart, window }: ApplicationFacts,
  notice: Notice | null,
): string {
  const choices = closings.map(([value, name]) => {
    const checked = value === onClose ? html` checked` : null;
    return html`<label
      ><input type="radio" name="choice" value="${value}" ${checked} /> ${name}</label
    >`;
  });
  const closing = section(
    'When its window is closed',
    window === 'browser'
      ? paragraph('svc is shown by your browser, so that it is not told: it keeps answering.')
      : html``,
    html`<form method="post" action="on-close">
      <fieldset>
        <legend>What then?</legend>
        ${choices}
      </fieldset>
      <button class="main">Save</button>
    </form>`,
  );
  const shown =
    window === null ? [] : [section('Shown by', paragraph(`This is ${shownBy[window]}.`))];
  const body = [closing, ...autostartSection(autostart), ...shown];
  return pageOf({ title: 'Settings', body, room: 'settings', notice });
}

function autostartSection(autostart: boolean | null): readonly Markup[] {
  if (autostart === null) return [];
  const is = autostart
    ? 'svc starts with your session, without a window.'
    : 'svc starts when you start it.';
  const [name, on] = autostart ? ['Do not start it any more', 'no'] : ['Start it by itself', 'yes'];
  const what = section(
    'When you log in',
    paragraph(is),
    press('autostart', name, { data: { on } }),
  );
  return [what];
}
