/** The file, the start, and the first message. Pure. */
import { kindOf, type ChannelType } from '../../src/channels/registry.ts';
import { documentOf, lineFor, secretsOf } from './document.ts';
import { hear } from './findings.ts';
import { backOrLeave, bad, choice, code, good, page, quote, text } from './page-parts.ts';
import { textField } from './page-parts.ts';
import { textOf } from '../../src/config/templates/templates.ts';
import type { Choice, Frontend, Line, Page } from './setup.ts';
import type { Draft, Facts, SetupState, Step, Written } from './state.ts';
import { mayStart } from './conditions.ts';

const fileTitle = 'The file';

export function pageOfReview(
  state: SetupState,
  { said }: Extract<Step, { readonly at: 'review' }>,
): Page {
  const { draft, facts } = state;
  const path = facts.file?.path ?? 'svc.json';
  const later = secretsOf(draft, facts).filter(({ is }) => is === 'later');
  const lines: Line[] = [
    ...(said === null ? [] : [bad(said)]),
    text(`Nothing was written so far. ${path} will be:`),
    code(textOf(documentOf(draft, facts)).trimEnd()),
    ...(draft.file === 'new' ? [] : [text('The file of now is kept beside it.')]),
    ...later.map(({ name }) => text(`${name} is to be set before a start.`)),
    ...(draft.model?.kind === 'practice' ? [text(practiceEnds[facts.frontend])] : []),
  ];
  const start = mayStart(state) ? [choice('start', 'Write it, and start')] : [];
  const choices = [...start, ...writing(facts.frontend, start.length > 0), ...backOrLeave(state)];
  return page('write', fileTitle, { lines, choices });
}

/** The application starts what is written: in a window there is one of the two. */
function writing(frontend: Frontend, canStart: boolean): Choice[] {
  if (frontend === 'terminal') return [choice('write', 'Write it, and start nothing')];
  return canStart ? [] : [choice('write', 'Write it')];
}

const practiceEnds: Readonly<Record<Frontend, string>> = {
  terminal:
    'The practice model answers for as long as this command runs. For a real one run svc init ' +
    'again, and change the model.',
  window:
    'The practice model answers until svc is quit or started again. Then svc says what is ' +
    'missing, and how to get a real one.',
};

export function pageOfWrite(): Page {
  return page('write', fileTitle, { work: { text: 'Writing …', slow: null } });
}

export function pageOfStart(
  { facts }: SetupState,
  { problem }: Extract<Step, { readonly at: 'start' }>,
): Page {
  if (problem === null) {
    return page('write', 'The start', { work: { text: 'Starting svc …', slow: null } });
  }
  const isWindow = facts.frontend === 'window';
  const left = facts.written === null ? 'Leave; nothing was written' : 'Leave; the file stays';
  const done = isWindow ? 'Go on with the file as it is' : left;
  return page('write', 'The start', {
    lines: [bad('It did not start:'), text(problem)],
    choices: [
      choice('again', 'Try again'),
      choice('done', done, { role: isWindow ? 'skip' : 'leave' }),
    ],
  });
}

export function pageOfFirst(
  state: SetupState,
  { heard }: Extract<Step, { readonly at: 'first' }>,
): Page {
  const first = 'first_message';
  const title = 'The first message';
  const done = choice('done', 'Done');
  switch (heard.kind) {
    case 'nothing':
    case 'let_in': {
      const who = heard.kind === 'let_in' ? [good(`${heard.name} may talk from now on.`)] : [];
      const skip = choice('done', 'Not now', { role: 'skip' });
      const work = { text: waitOf(state, heard.kind === 'let_in'), slow: null };
      return page(first, title, {
        lines: [good('svc is running.'), ...who],
        work,
        choices: [skip],
      });
    }
    case 'asking': {
      const ask = `${heard.name} wrote to the bot, and was given a code in that chat.`;
      return page(first, title, {
        lines: [...(heard.said === null ? [] : [bad(heard.said)]), text(ask)],
        fields: [textField('code', 'The code')],
        choices: [
          choice('let_in', 'Let in whose code it is', { takes: ['code'] }),
          choice('done', 'Not now', { role: 'skip' }),
        ],
      });
    }
    case 'reply': {
      const lines = [
        text('It was said:'),
        quote(heard.said),
        good('The answer:'),
        quote(heard.text),
      ];
      if (isMessengerOf(state)) return page(first, title, { lines, choices: [done] });
      const say = choice('say', 'Say it', { takes: ['says'] });
      return page(first, title, {
        lines,
        fields: [textField('says', 'Say something')],
        choices: [done, say],
      });
    }
    case 'problem':
      return page(first, title, {
        lines: [bad(heard.message)],
        choices: [choice('again', 'Try again'), choice('done', 'Not now', { role: 'skip' })],
      });
    default:
      return heard satisfies never;
  }
}

/** The channel whose first message it is. */
function heardType(state: SetupState): ChannelType | null {
  const wish = hear(state);
  return wish.kind === 'hear' ? wish.type : null;
}

function isMessengerOf(state: SetupState): boolean {
  const type = heardType(state);
  return type !== null && kindOf(type).isMessenger;
}

function waitOf(state: SetupState, again: boolean): string {
  const type = heardType(state);
  if (type === null || !kindOf(type).isMessenger) return 'Waiting for the answer …';
  const { channel } = state.draft;
  const bot = channel?.kind === 'channel' ? channel.bot : null;
  const whom = bot ?? `your bot on ${kindOf(type).name}`;
  return again ? `Now write to ${whom} once more …` : `Write to ${whom} now …`;
}

export function pageOfOver(
  state: SetupState,
  { end }: Extract<Step, { readonly at: 'over' }>,
): Page {
  const { facts, draft } = state;
  const { written, liveView } = facts;
  const lines = written === null ? [] : linesOf(written);
  switch (end.kind) {
    case 'left': {
      const left = [text('Nothing was written, and nothing was changed.')];
      return page('last', 'Left', { lines: left });
    }
    case 'written':
      return page('last', 'Written', { lines: [...lines, ...startLines(facts, draft)] });
    case 'served':
      return page('last', 'Stopped', { lines: [...lines, text('svc was stopped.')] });
    case 'goes_on': {
      const done = good('The first run is over: svc goes on in this window.');
      return page('last', 'Done', { lines: [...lines, done] });
    }
    case 'serving': {
      if (facts.frontend === 'window') return pageOfHeld(state, lines);
      const again = draft.keep === 'by_hand' || written === null ? [] : startLines(facts, draft);
      const hand = draft.keep === 'by_hand' ? startLines(facts, draft) : [];
      const own = draft.keep === 'by_hand' ? madeHere(written, draft) : [];
      const next = again.length + hand.length > 0 ? [text('The next time:')] : [];
      const runs = good('svc is running. It ends with this command.');
      const seen = liveView === null ? [] : [text('What happens is shown at'), code(liveView)];
      const all = [...lines, runs, ...seen, ...own, ...next, ...again, ...hand];
      return page('last', 'Running', { lines: all });
    }
    default:
      return end satisfies never;
  }
}

/**
 * It runs, and has something that ends with this process. Its live view knows nobody of the window,
 * so that nothing leads there: the service that comes after it signs in.
 */
function pageOfHeld({ facts, draft }: SetupState, lines: readonly Line[]): Page {
  const { written, place } = facts;
  const unset = written?.unset ?? [];
  const isPractice = draft.model?.kind === 'practice';
  const kept =
    `${unset.join(' and ')}: kept nowhere. svc asks for ${unset.length === 1 ? 'it' : 'them'} ` +
    'the next time.';
  const over = isPractice ? 'The practice model ends.' : 'What runs now ends.';
  return page('last', 'Running', {
    lines: [
      ...lines,
      good('svc is running, until it is quit or started again.'),
      ...(isPractice ? [text(practiceEnds.window)] : []),
      ...(unset.length > 0 ? [bad(kept)] : []),
      ...(unset.length > 0 && place?.told != null ? [text(place.told)] : []),
    ],
    choices: [choice('go_on', 'Start it again now', { hint: `Its pages open then. ${over}` })],
  });
}

/** What was made and is kept nowhere. */
function madeHere(written: Written | null, { pasted }: Draft): Line[] {
  const names = written?.unset.filter((name) => !pasted.includes(name)) ?? [];
  return names.map((name) =>
    text(
      `${name} was made for this run, which alone knows it: others can talk to svc the next time.`,
    ),
  );
}

function linesOf({ path, backup }: Written): Line[] {
  const before = backup === null ? [] : [text(`The file of before is ${backup}.`)];
  return [good(`${path} is written.`), ...before];
}

/** What starts it: first what is to be set. */
function startLines({ written, place }: Facts, { pasted }: Draft): Line[] {
  if (written === null) return [];
  const isUnit = place?.isUnit === true;
  const lines = written.unset.map((name) => code(lineFor(name, pasted.includes(name), isUnit)));
  return [...lines, code(written.command)];
}
