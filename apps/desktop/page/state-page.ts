/** The page of the application, by how it stands: what is so, what to do, and one main button. */
import type { ApplicationFacts, ApplicationState } from '../desktop.ts';
import type { Earlier } from '../repairs/repairs.ts';
import { link, linesOf, pageOf, paragraph, press, row, section, type Notice } from './frame.ts';
import { html, type Markup } from './markup.ts';
import { stuckPage } from './stuck-page.ts';

export type Shown = {
  readonly state: ApplicationState;
  readonly facts: ApplicationFacts;
  readonly earlier: readonly Earlier[];
  readonly notice: Notice | null;
  /** Where a page that waits asks for what comes next. */
  readonly next: string;
  /** Milliseconds since 1970. */
  readonly now: number;
};

type At<A extends ApplicationState['at']> = Extract<ApplicationState, { readonly at: A }>;

export function statePage({ state, facts, earlier, notice, next, now }: Shown): string {
  const page = (title: string, body: readonly Markup[], waits = false): string =>
    pageOf({ title, body, room: './', next: waits ? next : null, notice });
  switch (state.at) {
    case 'first_run':
      return page('Welcome to svc', firstRun);
    case 'starting':
      return page('svc is starting', [...starting, quitting], true);
    case 'serving':
      return page('svc is running', [...serving(state), factsOf(facts), quitting]);
    case 'crashed':
      return page('svc has stopped', [...crashed(state, now), quitting], state.nextTryAt !== null);
    case 'needs_you': {
      const { title, body } = stuckPage(state.why, earlier, facts);
      return page(title, [...body, quitting]);
    }
    case 'stopping':
      return page('svc is finishing its work', stopping, true);
    case 'stopped':
      return endedPage();
    default:
      return state satisfies never;
  }
}

const firstRun: readonly Markup[] = [
  section(
    'Set it up',
    paragraph(
      'svc is not set up yet. A few questions lead to the first answer; nothing is saved before ' +
        'the last of them.',
    ),
    press('pages', 'Begin', { isMain: true }),
  ),
  section('Not now', paragraph('svc ends, and nothing stays behind.'), press('quit', 'Quit svc')),
];

const starting: readonly Markup[] = [
  section(
    'One moment',
    paragraph('Its page opens by itself as soon as it is ready.'),
    row(press('pages', 'Open svc', { isMain: true }), link('log', 'Read the log')),
  ),
];

function serving({ canWrite }: At<'serving'>): readonly Markup[] {
  const open = section(
    'It is at work',
    paragraph('Its messages, models and channels are on the pages of svc.'),
    row(press('pages', 'Open svc', { isMain: true }), press('restart', 'Start it again')),
  );
  if (canWrite) return [open];
  const allow = section(
    'Looking only',
    paragraph(
      'The pages of svc show everything and can change nothing, since its configuration does not ' +
        'say that they may. This button adds that to the configuration, and starts svc again.',
    ),
    press('allow-changes', 'Let me change things here'),
  );
  return [open, allow];
}

function crashed({ how, lastLines, nextTryAt }: At<'crashed'>, now: number): readonly Markup[] {
  const next =
    nextTryAt === null
      ? 'It was started again several times and did not stay, so svc has stopped trying. What it ' +
        'said last may tell why; the configuration can be changed here.'
      : `It is started again by itself ${describeWhen(nextTryAt - now)}, and then answers what ` +
        'it had in hand, where its configuration keeps that on disk ("storage").';
  const what = section(
    'What happened',
    paragraph(how),
    paragraph(next),
    row(
      press('restart', 'Start it now', { isMain: true }),
      link('log', 'Read the log'),
      link('configuration', 'Change the configuration'),
    ),
  );
  if (lastLines.length === 0) return [what];
  return [what, section('What it said last', linesOf(lastLines, 'What it said last'))];
}

function describeWhen(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds <= 1 ? 'in a moment' : `in ${seconds} seconds`;
}

const stopping: readonly Markup[] = [
  section(
    'One moment',
    paragraph('Answers that are under way are given first. This takes at most 45 seconds.'),
  ),
];

const quitting: Markup = section(
  'Quit',
  paragraph(
    'Answers that are under way are given first; then svc ends. Messages that come meanwhile ' +
      'are not answered until it runs again.',
  ),
  press('quit', 'Quit svc'),
);

function factsOf({ version, config }: ApplicationFacts): Markup {
  return section(
    'About',
    html`<dl>
      <dt>Version</dt>
      <dd>${version}</dd>
      <dt>Configuration</dt>
      <dd>${config}</dd>
    </dl>`,
    press('open-folder', 'Open its folder'),
  );
}

/** The last one: what it leads to is gone in a moment. */
export function endedPage(): string {
  const body = section(
    'You can close this window',
    paragraph(
      'Answers that are under way are given first. To use svc again, start it as you did before.',
    ),
  );
  return pageOf({ title: 'svc ends', body, room: null });
}

/** What is asked when a window is closed for the first time. */
export function closePage(notice: Notice | null): string {
  const body = section(
    'Your window is closing',
    paragraph(
      'svc can go on answering messages without its window. To see it again, start svc as you ' +
        'did before.',
    ),
    row(
      press('keep-answering', 'Keep answering', { isMain: true }),
      press('close-and-quit', 'Quit svc'),
      press('pages', 'Go back'),
    ),
    html`<p class="soft">Your answer is kept for the next time. Settings can change it.</p>`,
  );
  return pageOf({ title: 'Keep answering in the background?', body, room: null, notice });
}
