/** Makes the page for a state; all texts of the first run are here. Pure. */
import { kindOf, type ChannelConfig, type ChannelType } from '../../src/channels/registry.ts';
import type { Page, Choice, Line, Frontend, Field, StepName } from './setup.ts';
import type {
  SetupState,
  Step,
  TokenFound,
  Draft,
  Facts,
  Written,
  ModelChoice,
  ModelDraft,
  ModelsFound,
} from './state.ts';
import type { ChannelKind } from '../../src/channels/kind.ts';
import { kindsOffered, secretsOf, documentOf, lineFor, vendors } from './document.ts';
import { mayKeep, mayStart, isKeyed } from './conditions.ts';
import { hear } from './findings.ts';
import { textOf } from '../../src/config/templates/templates.ts';

/** A page; parts that are left out are empty. */
function page(
  step: StepName,
  title: string,
  { lines = [], fields = [], choices = [], work = null }: Partial<Page>,
): Page {
  return { step, title, lines, fields, choices, work };
}

const text = (words: string): Line => ({ kind: 'text', text: words });
const good = (words: string): Line => ({ kind: 'good', text: words });
const bad = (words: string): Line => ({ kind: 'bad', text: words });
const code = (words: string): Line => ({ kind: 'code', text: words });
const quote = (words: string): Line => ({ kind: 'quote', text: words });

function choice(id: string, label: string, more: Partial<Choice> = {}): Choice {
  return { id, label, hint: null, takes: [], role: 'forward', ...more };
}

function textField(name: string, label: string, value = ''): Field {
  return { name, label, kind: 'text', value, isOptional: false };
}

function secretField(name: string, isOptional = false): Field {
  return { name, label: name, kind: 'secret', value: '', isOptional };
}

/** The last choices of every page before the file is written. */
function backOrLeave(state: Pick<SetupState, 'trail' | 'facts'>): Choice[] {
  const back = state.trail.length === 0 ? [] : [choice('back', 'Back', { role: 'back' })];
  return [...back, ...leaving(state)];
}

/** In a window there is no choice to leave: the person closes the window. */
function leaving({ facts: { frontend } }: Pick<SetupState, 'facts'>): Choice[] {
  if (frontend === 'window') return [];
  return [choice('leave', 'Leave; nothing is written', { role: 'leave' })];
}

// The pages about the model and its answer.

/** The most models offered by name. */
const listedMax = 12;
const pull = 'ollama pull llama3.2';
const modelTitle = 'The model that answers';

function pageOfModel(state: SetupState): Page {
  const { models, file } = state.facts;
  const practice = choice('practice', 'Begin with the practice model', {
    hint: 'A small program with fixed answers, to see everything else work; no language model.',
    role: 'skip',
  });
  const kept = file?.kind === 'there' && state.draft.file === 'change' ? [keptModel(file)] : [];
  if (models === null) {
    const work = { text: 'Looking for models on this machine …', slow: null };
    return page('model', modelTitle, { work, choices: [practice, ...backOrLeave(state)] });
  }
  const near = models.near.slice(0, listedMax).map((model, index) => {
    return choice(`model:${index}`, nameOf(model), { hint: whereOf(model) });
  });
  const again = choice('again', 'Look again');
  const hosted = choice('hosted', 'A hosted model, with a key', { hint: leaves });
  const found = near.length > 0;
  return page('model', modelTitle, {
    lines: found
      ? [text('These models answer on this machine. Which one do you want?')]
      : noneLines(models, state.facts.frontend),
    choices: found
      ? [...kept, ...near, hosted, again, practice, ...backOrLeave(state)]
      : [...kept, again, hosted, practice, ...backOrLeave(state)],
  });
}

const leaves = 'What people write then leaves this machine.';

function keptModel({ models }: { readonly models: readonly string[] }): Choice {
  return choice('kept', `Keep ${models[0] ?? 'the one of the file'}`, { role: 'skip' });
}

function noneLines({ empty, keyed }: ModelsFound, frontend: Frontend): Line[] {
  const keys = keyed.map(({ keyEnv }) => keyEnv).join(', ');
  const then = frontend === 'window' ? '. Then, in a terminal:' : ', then:';
  const hosted = keys === '' ? [] : [text(`There is a key for a hosted model: ${keys}.`)];
  if (empty.length > 0) {
    const lack = `A model runtime runs at ${empty.join(' and ')}, but it has no model yet.`;
    return [
      bad(lack),
      text(`Fetch one in ${frontend === 'window' ? 'a' : 'another'} terminal, then look again:`),
      code(pull),
      ...hosted,
    ];
  }
  return [
    bad('No model runtime answers on this machine.'),
    text(`To run models here, install Ollama from https://ollama.com${then}`),
    code(pull),
    ...hosted,
  ];
}

function nameOf({ modelId }: ModelDraft): string {
  return modelId;
}

function whereOf({ locality, baseUrl }: ModelDraft): string {
  const where = baseUrl === null ? 'of the runtime on this machine' : `at ${baseUrl}`;
  return locality === 'local' ? where : `${where}; it hands this one on to its vendor. ${leaves}`;
}

function pageOfVendor(state: SetupState): Page {
  const keyed = state.facts.models?.keyed ?? [];
  const all = vendors.map((vendor, index) => {
    const hint = isKeyed(keyed, vendor) ? `${vendor.keyEnv} is set.` : null;
    return { first: hint !== null, choice: choice(`vendor:${index}`, vendor.name, { hint }) };
  });
  const ordered = [...all.filter(({ first }) => first), ...all.filter(({ first }) => !first)];
  return page('model', 'Who runs the model', {
    lines: [text(`${leaves} The brain is written as public, which says so.`)],
    choices: [
      ...ordered.map((one) => one.choice),
      choice('other', 'Another address that speaks the same API'),
      ...backOrLeave(state),
    ],
  });
}

function pageOfKey(
  state: SetupState,
  { vendor, said }: Extract<Step, { readonly at: 'key' }>,
): Page {
  const isOther = vendor.baseUrl === '';
  const isSet = isKeyed(state.facts.models?.keyed ?? [], vendor);
  const address = isOther ? [textField('base_url', 'Address', 'http://127.0.0.1:8000/v1')] : [];
  const key = isSet ? [] : [secretField(vendor.keyEnv, isOther)];
  const model = textField('model_id', 'Model', vendor.modelId);
  const fields = [...address, ...key, model];
  const names = fields.map(({ name }) => name);
  const notKey = names.filter((name) => name !== vendor.keyEnv);
  const lines = isSet
    ? [good(`${vendor.keyEnv} is set; it is used.`)]
    : [text('The key is typed unseen, and kept nowhere before the last step.')];
  return page('model', `A model of ${vendor.name}`, {
    lines: said === null ? lines : [bad(said), ...lines],
    fields,
    choices: [
      choice('ask', 'Ask it something', { takes: names }),
      choice('later', 'Go on without asking it', { takes: notKey, role: 'skip' }),
      ...backOrLeave(state),
    ],
  });
}

/** The time limit for the first answer of a model. */
export const firstAnswerMs = 300_000;
const slowMs = 5_000;

function pageOfAnswer(
  state: SetupState,
  { outcome }: Extract<Step, { readonly at: 'answer' }>,
): Page {
  const name = describeModel(state.draft.model);
  const another = choice('another', 'Choose another model', { role: 'back' });
  const skip = choice('skip', 'Go on with it all the same', { role: 'skip' });
  const leave = leaving(state);
  if (outcome === null) {
    const slow = 'It still works on it: a first answer loads the model. It has five minutes.';
    const work = { text: `Asking ${name} …`, slow: { text: slow, afterMs: slowMs } };
    return page('answer', 'A first answer', { work, choices: [skip, another, ...leave] });
  }
  if (outcome.kind === 'answer') {
    const seconds = (outcome.ms / 1000).toFixed(1);
    return page('answer', 'A first answer', {
      lines: [good(`${name} answered in ${seconds} s:`), quote(outcome.text)],
      choices: [choice('next', 'Go on with it'), another, ...leave],
    });
  }
  const { message, remedy } = outcome;
  const lines = [bad(`${name} gave no answer: ${message}.`), ...(remedy ? [text(remedy)] : [])];
  return page('answer', 'A first answer', { lines, choices: [another, skip, ...leave] });
}

function describeModel(model: ModelChoice | null): string {
  return model?.kind === 'model' ? model.modelId : 'the practice model';
}

// The pages about the file, the start and the first message.

const fileTitle = 'The file';

function pageOfReview(state: SetupState, { said }: Extract<Step, { readonly at: 'review' }>): Page {
  const { draft, facts } = state;
  const path = facts.file?.path ?? 'svc.json';
  const later = secretsOf(draft, facts).filter(({ is }) => is === 'later');
  const lines: Line[] = [
    ...(said === null ? [] : [bad(said)]),
    text(`Nothing was written so far. ${path} will be:`),
    code(textOf(documentOf(draft, facts)).trimEnd()),
    ...(draft.file === 'new' ? [] : [text('svc keeps the old file beside it.')]),
    ...later.map(({ name }) => text(`${name} is to be set before a start.`)),
    ...(draft.model?.kind === 'practice' ? [text(practiceEnds[facts.frontend])] : []),
  ];
  const start = mayStart(state) ? [choice('start', 'Write it, and start')] : [];
  const choices = [...start, ...writing(facts.frontend, start.length > 0), ...backOrLeave(state)];
  return page('write', fileTitle, { lines, choices });
}

/**
 * The choice to write the file without a start. A window offers it only if svc cannot start yet:
 * the application starts what is written.
 */
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

function pageOfWrite(): Page {
  return page('write', fileTitle, { work: { text: 'Writing …', slow: null } });
}

function pageOfStart(
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

function pageOfFirst(state: SetupState, { heard }: Extract<Step, { readonly at: 'first' }>): Page {
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
      const ask = `${heard.name} wrote to the bot. The bot answered with a code.`;
      return page(first, title, {
        lines: [...(heard.said === null ? [] : [bad(heard.said)]), text(ask)],
        fields: [textField('code', 'The code')],
        choices: [
          choice('let_in', 'Let this person in', { takes: ['code'] }),
          choice('done', 'Not now', { role: 'skip' }),
        ],
      });
    }
    case 'reply': {
      const lines = [
        text('The message:'),
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
    case 'problem': {
      const hint = heard.again === 'start' ? 'svc starts again, and connects anew.' : null;
      return page(first, title, {
        lines: [bad(heard.message)],
        choices: [
          choice('again', 'Try again', { hint }),
          choice('done', 'Not now', { role: 'skip' }),
        ],
      });
    }
    default:
      return heard satisfies never;
  }
}

/** The channel that the first message comes from. */
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

function pageOfOver(state: SetupState, { end }: Extract<Step, { readonly at: 'over' }>): Page {
  const { facts, draft } = state;
  const { written, liveView } = facts;
  const lines = written === null ? [] : writtenLines(written);
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
      const runs = good('svc is running. To stop it, press Ctrl-C in the terminal.');
      const seen =
        liveView === null
          ? []
          : [text('The live view, a page that shows what svc does:'), code(liveView)];
      const all = [...lines, runs, ...seen, ...own, ...next, ...again, ...hand];
      return page('last', 'Running', { lines: all });
    }
    default:
      return end satisfies never;
  }
}

/**
 * The page of a service that runs and needs something that ends with this process. It has no link
 * to the live view, which would not know the window's person. The service that follows signs in.
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

/** Lines for generated secrets that are kept nowhere. */
function madeHere(written: Written | null, { pasted }: Draft): Line[] {
  const names = written?.unset.filter((name) => !pasted.includes(name)) ?? [];
  return names.map((name) =>
    text(
      `svc made ${name} for this run only. The line below makes one that your programs can show.`,
    ),
  );
}

function writtenLines({ path, backup }: Written): Line[] {
  const before = backup === null ? [] : [text(`The file of before is ${backup}.`)];
  return [good(`${path} is written.`), ...before];
}

/** Lines on how to start svc: first the variables to set, then the command. */
function startLines({ written, place }: Facts, { pasted }: Draft): Line[] {
  if (written === null) return [];
  const isUnit = place?.isUnit === true;
  const lines = written.unset.map((name) => code(lineFor(name, pasted.includes(name), isUnit)));
  return [...lines, code(written.command)];
}

export function pageOf(state: SetupState): Page {
  const { step } = state;
  switch (step.at) {
    case 'file':
      return pageOfFile(state);
    case 'model':
      return pageOfModel(state);
    case 'vendor':
      return pageOfVendor(state);
    case 'key':
      return pageOfKey(state, step);
    case 'answer':
      return pageOfAnswer(state, step);
    case 'channel':
      return pageOfChannel(state);
    case 'token':
      return pageOfToken(state, step);
    case 'keep':
      return pageOfKeep(state);
    case 'access':
      return pageOfAccess(state, step);
    case 'review':
      return pageOfReview(state, step);
    case 'write':
      return pageOfWrite();
    case 'start':
      return pageOfStart(state, step);
    case 'first':
      return pageOfFirst(state, step);
    case 'over':
      return pageOfOver(state, step);
    default:
      return step satisfies never;
  }
}

function pageOfFile(state: SetupState): Page {
  const title = 'Your configuration';
  const { file } = state.facts;
  if (file?.kind !== 'there') {
    const work = { text: 'Looking for a file that is there already …', slow: null };
    return page('file', title, { work, choices: backOrLeave(state) });
  }
  const { path, problem, models, channels } = file;
  const what = `Its channels: ${listed(channels.map(shownName))}. It asks ${listed(models)}.`;
  const found =
    problem === null
      ? text(what)
      : ({ kind: 'bad', text: `It cannot be used: ${problem}` } as const);
  const anew = 'svc keeps the old file beside it, under another name.';
  return page('file', title, {
    lines: [text(`${path} is there already. It is never overwritten.`), found],
    choices: [
      ...(problem === null
        ? [
            choice('keep', 'Keep it, and start'),
            choice('change', 'Change its model or add a channel', { hint: anew }),
          ]
        : []),
      choice('anew', 'Make a new one', { hint: anew }),
      ...backOrLeave(state),
    ],
  });
}

function shownName({ name, type }: Pick<ChannelConfig, 'name' | 'type'>): string {
  return name === type ? kindOf(type).name : name;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.slice(0, 5).join(', ');
}

// The pages about the channel, its secrets and who may talk.

function pageOfChannel(state: SetupState): Page {
  const { file } = state.facts;
  const isChange = state.draft.file === 'change' && file?.kind === 'there';
  const names = isChange ? file.channels.map(shownName) : [];
  const kept = isChange
    ? [choice('kept', `Keep what there is: ${listed(names)}`, { role: 'skip' })]
    : [];
  return page('channel', 'Where messages come from', {
    lines: [text('More channels can be added later.')],
    choices: [...kept, ...kindsOffered.map(choiceOf), ...backOrLeave(state)],
  });
}

function choiceOf({ type, name, isMessenger }: ChannelKind): Choice {
  const hint = isMessenger
    ? 'People write to a bot of yours. It needs a token of the platform.'
    : 'Programs send messages by HTTP, and replies are posted to them. It needs no account.';
  return choice(type, name, { hint });
}

function pageOfToken(
  state: SetupState,
  { type, found }: Extract<Step, { readonly at: 'token' }>,
): Page {
  const { name, token }: ChannelKind = kindOf(type);
  const { variable, steps } = token;
  const title = `Your bot on ${name}`;
  const later = choice('later', `Go on, and set ${variable} later`, { role: 'skip' });
  if (found === null) {
    const work = { text: `Asking ${name} whose token it is …`, slow: null };
    return page('channel', title, { work, choices: [later, ...backOrLeave(state)] });
  }
  const fields = [secretField(variable)];
  const label = found.kind === 'none' ? 'Paste the token' : 'Paste another token';
  const paste = choice('paste', label, { takes: [variable] });
  const canPaste = found.kind === 'none' || isReplaced(found.source);
  const own = canPaste ? [paste] : [];
  const ways = found.kind === 'none' ? steps.map((step, at) => text(`${at + 1}. ${step}`)) : [];
  return page('channel', title, {
    lines: [...linesOf(found, variable), ...ways],
    fields: canPaste ? fields : [],
    choices: [...choicesOf(found, own), later, ...backOrLeave(state)],
  });
}

/** Whether a pasted token would take effect: other places take precedence over the keychain. */
function isReplaced(source: Exclude<TokenFound, { kind: 'none' }>['source']): boolean {
  return source === 'pasted' || source === 'keychain';
}

function choicesOf(found: TokenFound, paste: readonly Choice[]): readonly Choice[] {
  switch (found.kind) {
    case 'none':
    case 'refused':
      return paste;
    case 'known':
      return [choice('next', `Go on as ${found.name}`), ...paste];
    case 'unreached':
      return [choice('again', 'Ask again'), choice('next', 'Go on unasked'), ...paste];
    default:
      return found satisfies never;
  }
}

function linesOf(found: TokenFound, variable: string): Line[] {
  if (found.kind === 'none') return [];
  const elsewhere = isReplaced(found.source)
    ? []
    : [text(`It stands in ${variable} of your environment, which wins over what is pasted.`)];
  if (found.kind === 'known') return [good(`It is ${found.name} (${found.id}).`), ...elsewhere];
  return [bad(`${capital(found.message)}.`), ...elsewhere];
}

function capital(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

function pageOfKeep(state: SetupState): Page {
  const { place } = state.facts;
  const title = 'Where its secrets are kept';
  if (place === null) {
    const work = { text: 'Looking at the keychain …', slow: null };
    return page('secrets', title, { work, choices: backOrLeave(state) });
  }
  const secrets = secretsOf(state.draft, state.facts);
  const made = secrets.filter(({ is }) => is === 'made').map(({ name }) => name);
  const pasted = secrets.filter(({ is }) => is === 'pasted').map(({ name }) => name);
  const isWindow = state.facts.frontend === 'window';
  const isReady = place.keychain === 'ready';
  const left = mayKeep(state) ? 'svc makes a long one' : 'svc makes one for this run only';
  return page('secrets', title, {
    lines: [
      text('The file names its secrets, and never holds one.'),
      ...pasted.map((name) => good(`${name} was pasted.`)),
      ...made.map((name) =>
        text(`${name} is the password of the programs that write. If you leave it empty, ${left}.`),
      ),
      ...(isReady ? [] : [bad(place.told ?? 'The keychain cannot be used.')]),
      ...(isReady || isWindow ? [] : [text('You can go on without it.')]),
    ],
    fields: made.map((name) => secretField(name, true)),
    choices: [...(isWindow ? inWindow : atTerminal)(state, made), ...backOrLeave(state)],
  });
}

const keychainAgain = choice('again', 'Look at the keychain again');

function atTerminal({ facts }: SetupState, made: readonly string[]): readonly Choice[] {
  const byHand = choice('by_hand', 'I set them in the environment', {
    hint: 'At the end svc prints the lines for the next start. This run has them already.',
    takes: made,
    role: 'skip',
  });
  return facts.place?.keychain === 'ready' ? [inKeychain(made), byHand] : [byHand, keychainAgain];
}

/** The choices in a window: a person without a terminal cannot set environment variables. */
function inWindow(state: SetupState, made: readonly string[]): readonly Choice[] {
  if (state.facts.place?.keychain === 'ready') return [inKeychain(made)];
  const label = 'Unlock the keychain, and keep them there';
  const hint = 'It asks for its password at the last step, when they are written.';
  const unlocked = mayKeep(state) ? [choice('keychain', label, { hint, takes: made })] : [];
  const without = choice('by_hand', 'Go on without it', {
    hint: 'svc has them until it is quit or started again, and asks for them the next time.',
    takes: made,
    role: 'skip',
  });
  return [...unlocked, keychainAgain, without];
}

function inKeychain(made: readonly string[]): Choice {
  return choice('keychain', 'Keep them in the keychain of this system', {
    hint: 'svc finds them there at each start, and shows them to nobody.',
    takes: made,
  });
}

function pageOfAccess(state: SetupState, { said }: Extract<Step, { readonly at: 'access' }>): Page {
  const line = text('Strangers can find a bot. Who is to be answered?');
  return page('access', 'Who may talk to it', {
    lines: said === null ? [line] : [bad(said), line],
    fields: [textField('ids', 'User ids')],
    choices: [
      choice('pairing', 'Only people whom I let in by a code', {
        hint: 'A stranger gets a code from the bot, and you type it here. Begin with yourself.',
      }),
      choice('listed', 'These user ids alone', { takes: ['ids'] }),
      choice('anyone', 'Anyone on the platform', { hint: 'svc warns of it at each start.' }),
      ...backOrLeave(state),
    ],
  });
}
