/**
 * The first page of the application, for each state: what is the case, what to do, and one main
 * button.
 */
import type { ApplicationFacts, ApplicationState, Stuck, StuckProblem } from '../desktop.ts';
import type { Earlier } from '../repairs/repairs.ts';
import {
  link,
  linesOf,
  pageOf,
  paragraph,
  press,
  row,
  section,
  timeOf,
  html,
  type Notice,
  type Markup,
} from './frame.ts';

// States that no restart mends: the problem, and the button that does what a person would do.

type Of<O extends Stuck['of']> = Extract<Stuck, { readonly of: O }>;
type Body = { readonly title: string; readonly body: readonly Markup[] };

function stuckPage(
  why: Stuck,
  earlier: readonly Earlier[],
  facts: Pick<ApplicationFacts, 'config'>,
): Body {
  switch (why.of) {
    case 'config':
      return configStuckPage(why, earlier, facts);
    case 'secrets':
      return secretsPage(why);
    case 'address':
      return addressPage(why);
    case 'in_use':
      return inUsePage(why);
    case 'other':
      return otherPage(why, earlier);
    default:
      return why satisfies never;
  }
}

const tryAgain = press('restart', 'Try again');

function configStuckPage(
  { problems }: Of<'config'>,
  earlier: readonly Earlier[],
  { config: file }: Pick<ApplicationFacts, 'config'>,
): Body {
  const what = section(
    'What is wrong',
    html`<p>svc cannot start with its configuration, <code>${file}</code>.</p>`,
    problemList(problems),
    row(link('configuration', 'Change it here', true), tryAgain),
  );
  return { title: 'The configuration needs a correction', body: [what, ...takeBack(earlier)] };
}

export function problemList(problems: readonly StuckProblem[]): Markup {
  const items = problems.map(({ path, line, message, remedy }) => {
    const place = [line > 0 ? `line ${line}` : '', path].filter((part) => part !== '').join(', ');
    const where = place === '' ? null : html`<strong>${place}</strong>: `;
    return html`<li>${where}${message.replace(/\.$/, '')}. ${remedy}</li>`;
  });
  return html`<ul>
    ${items}
  </ul>`;
}

/** The earlier configurations, newest first, each with a button to restore it. */
export function takeBack(earlier: readonly Earlier[]): readonly Markup[] {
  if (earlier.length === 0) return [];
  const items = earlier.map(({ revision, savedAt }) => {
    const button = press('take-back', `Use the one of ${timeOf(savedAt)}`, { data: { revision } });
    return html`<li>${button}</li>`;
  });
  const what = section(
    'Earlier configurations',
    paragraph(
      'svc keeps configurations that were in use before. What lies there now is kept as well.',
    ),
    html`<ul>
      ${items}
    </ul>`,
  );
  return [what];
}

function secretsPage({ missing, keychain, told }: Of<'secrets'>): Body {
  const title = missing.length === 1 ? 'A secret is missing' : 'Secrets are missing';
  const what = section(
    'What is missing',
    paragraph(
      'svc cannot start without what its configuration names here: a key or a token that was ' +
        'given to you, or that you choose.',
    ),
    html`<ul>
      ${missing.map(
        ({ name, usedAt, why }) =>
          html`<li><strong>${name}</strong>: ${why} It is used at ${usedAt.join(', ')}.</li>`,
      )}
    </ul>`,
  );
  switch (keychain) {
    case 'ready':
      return { title, body: [what, pasteForm(missing, true, keptThere)] };
    case 'locked':
      return {
        title: 'The keychain is locked',
        body: [unlockSection, what, pasteForm(missing, false, keptThere)],
      };
    case 'no_bus':
    case 'no_provider':
    case 'unavailable': {
      const none = section(
        'There is no keychain',
        html`<p class="soft">${told ?? 'svc could not reach the keychain of this system.'}</p>`,
      );
      return { title, body: [what, pasteForm(missing, true, inMemoryOnly), none] };
    }
    case 'no_answer':
    case 'denied': {
      const body = section(
        'The keychain cannot be used',
        paragraph(told ?? 'svc could not reach the keychain of this system.'),
        press('restart', 'Try again', { isMain: true }),
      );
      return { title, body: [what, body] };
    }
    default:
      return keychain satisfies never;
  }
}

/** Replaces the text that a terminal shows about a locked keychain. */
const unlockSection: Markup = section(
  'Unlock it',
  paragraph(
    'What svc needs may be in the keychain of this system, which is locked. The system asks ' +
      'for its password in a window of its own, once.',
  ),
  row(press('unlock', 'Unlock the keychain', { isMain: true }), tryAgain),
);

const keptThere =
  'It goes into the keychain of this system, where svc finds it from now on. No page shows it ' +
  'again.';

const inMemoryOnly =
  'No keychain is here that could keep it. So svc has it until it is quit, and asks for it again ' +
  'the next time. No page shows it again.';

/**
 * The form for missing secrets. A field's name is its index in the list, so the server need not
 * trust a page with names.
 */
function pasteForm(missing: Of<'secrets'>['missing'], isMain: boolean, kept: string): Markup {
  const fields = missing.map(
    ({ name }, index) =>
      html`<label class="field"
        >Value of ${name}
        <input type="password" name="value-${index}" autocomplete="off" spellcheck="false"
      /></label>`,
  );
  const look = isMain ? html` class="main"` : null;
  return section(
    'Paste it here',
    paragraph(kept),
    html`<form method="post" action="secrets" autocomplete="off">${fields}
<div class="row"><button${look}>Keep and start</button></div></form>`,
    isMain ? tryAgain : html``,
  );
}

function addressPage({ field, address: text, message }: Of<'address'>): Body {
  const what = section(
    'What is in the way',
    paragraph(`svc wants to be reached at ${text}, and cannot: ${sentence(message)}`),
    paragraph(
      'It can take another number for the port. Whoever sends to this address by themselves ' +
        'then needs the new one, which is told here.',
    ),
    row(press('other-port', 'Use another port', { isMain: true }), tryAgain),
    html`<p class="soft">In the configuration: ${field}</p>`,
  );
  return { title: 'An address is taken', body: [what] };
}

function inUsePage({ message }: Of<'in_use'>): Body {
  const what = section(
    'What is in the way',
    paragraph(sentence(message)),
    paragraph(
      'One svc at a time can use its database. End the other one first; where it runs in a ' +
        'terminal, Ctrl-C there ends it.',
    ),
    press('restart', 'Try again', { isMain: true }),
  );
  return { title: 'svc already runs', body: [what] };
}

function otherPage({ code, message }: Of<'other'>, earlier: readonly Earlier[]): Body {
  const what = section(
    'What is in the way',
    message.includes('\n')
      ? linesOf(message.split('\n'), 'What is in the way')
      : paragraph(sentence(message)),
    row(
      press('restart', 'Try again', { isMain: true }),
      link('log', 'Read the log'),
      link('configuration', 'Change the configuration'),
    ),
    html`<p class="soft">Its code: ${code}</p>`,
  );
  return { title: 'svc cannot start', body: [what, ...takeBack(earlier)] };
}

/** Adds a full stop where a text of another program lacks one. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

export type StatePageOptions = {
  readonly state: ApplicationState;
  readonly facts: ApplicationFacts;
  readonly earlier: readonly Earlier[];
  readonly notice: Notice | null;
  /** The address that a waiting page requests for the next state. */
  readonly next: string;
  /** Milliseconds since 1970. */
  readonly now: number;
};

type At<A extends ApplicationState['at']> = Extract<ApplicationState, { readonly at: A }>;

export function statePage({ state, facts, earlier, notice, next, now }: StatePageOptions): string {
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

/** The last page; it has no links, since the server ends in a moment. */
export function endedPage(): string {
  const body = section(
    'You can close this window',
    paragraph(
      'Answers that are under way are given first. To use svc again, start it as you did before.',
    ),
  );
  return pageOf({ title: 'svc ends', body, room: null });
}

/** The question when a window is closed for the first time. */
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
