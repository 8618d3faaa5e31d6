/**
 * The actions behind the buttons of the shell's pages. Each answers with a redirect to the next
 * page, which shows the result.
 */
import { stopOf, unlessStopped } from '../../../src/lib/stop.ts';
import type { Application, OnClose, Stuck } from '../desktop.ts';
import type { Repaired, Repairs } from '../repairs/repairs.ts';
import type { PageAnswer } from './answers.ts';
import type { Notices } from './notices.ts';
import { configurationPage } from './room-pages.ts';
import { endedPage } from './state-page.ts';

export type ActDeps = {
  readonly application: Application;
  readonly repairs: Repairs;
  readonly notices: Notices;
};

/** @param left aborts when nobody waits for the answer any more, or the server closes */
type Act = (deps: ActDeps, fields: URLSearchParams, left: AbortSignal) => Promise<PageAnswer>;

/** How long an action waits for the pages of a core that may be starting. */
const pagesMs = 10_000;

export const acts: ReadonlyMap<string, Act> = new Map<string, Act>([
  ['pages', openPages],
  ['restart', ({ application }) => restart(application)],
  ['quit', async ({ application }) => endedAnswer(() => application.quit())],
  ['keep-answering', keepAnswering],
  ['close-and-quit', closeAndQuit],
  ['on-close', setOnClose],
  ['autostart', setAutostart],
  ['other-port', otherPort],
  ['allow-changes', (deps) => restartAfter(deps, deps.repairs.allowChanges())],
  ['take-back', takeBack],
  ['configuration', saveConfiguration],
  ['secrets', keepSecrets],
  ['unlock', unlock],
  ['open-folder', (deps) => openFolder(deps, 'folder')],
  ['open-logs', (deps) => openFolder(deps, 'logs')],
]);

/**
 * @returns the address of the core's pages; null: the core does not serve, or nobody waits any more
 */
export async function pagesOf(application: Application, left: AbortSignal): Promise<string | null> {
  const ends = AbortSignal.any([left, AbortSignal.timeout(pagesMs)]);
  if (ends.aborted) return null;
  try {
    // A core that hangs does not answer, so the signal ends the wait.
    return await unlessStopped(application.pages(ends), stopOf(ends));
  } catch (error) {
    if (ends.aborted) return null;
    throw error;
  }
}

async function openPages({ application, notices }: ActDeps, _fields: unknown, left: AbortSignal) {
  const url = await pagesOf(application, left);
  if (url !== null) return go(url);
  return showNotice(notices, './', {
    kind: 'fault',
    message: 'svc does not show its pages just now.',
  });
}

/** The page `wait` waits for the core's pages. */
async function restart(application: Application): Promise<PageAnswer> {
  await application.restart();
  return go('wait');
}

function endedAnswer(after: () => void): PageAnswer {
  return { kind: 'page', status: 200, page: endedPage(), after };
}

async function keepAnswering({ application }: ActDeps): Promise<PageAnswer> {
  await application.answerClosing('keep');
  return go('wait');
}

/** The application ends even if the shell could not store the choice. */
async function closeAndQuit({ application }: ActDeps): Promise<PageAnswer> {
  return endedAnswer(() => void application.answerClosing('quit').catch(() => application.quit()));
}

async function setOnClose({ application, notices }: ActDeps, fields: URLSearchParams) {
  const choice = fields.get('choice') ?? '';
  if (!isOnClose(choice)) return go('settings');
  await application.setOnClose(choice);
  return showNotice(notices, 'settings', { kind: 'done', told: 'It is saved.' });
}

const isOnClose = (text: string): text is OnClose => /^(?:ask|keep|quit)$/.test(text);

async function setAutostart({ application, notices }: ActDeps, fields: URLSearchParams) {
  const on = fields.get('on') === 'yes';
  const fault = await application.setAutostart(on);
  if (fault !== null) return showNotice(notices, 'settings', { kind: 'fault', message: fault });
  const told = on ? 'svc starts by itself from now on.' : 'svc does not start by itself any more.';
  return showNotice(notices, 'settings', { kind: 'done', told });
}

async function otherPort(deps: ActDeps): Promise<PageAnswer> {
  const why = stuckOf(deps, 'address');
  if (why === null) return stateChanged(deps);
  return restartAfter(deps, deps.repairs.otherPort(why.field, why.address));
}

function takeBack(deps: ActDeps, fields: URLSearchParams): Promise<PageAnswer> {
  return restartAfter(deps, deps.repairs.takeBack(fields.get('revision') ?? ''));
}

async function saveConfiguration(deps: ActDeps, fields: URLSearchParams): Promise<PageAnswer> {
  const { application, repairs, notices } = deps;
  const read = await repairs.read();
  const before = read.kind === 'text' ? read.text : '';
  const text = withLineEnds(fields.get('text') ?? '', before);
  const revision = fields.get('revision') ?? '';
  const saved = await repairs.save(text, revision);
  if (saved.kind === 'done') {
    return showNotice(notices, './', await restarted(application, saved));
  }
  const { config: file } = application.facts;
  const problems = saved.kind === 'problems' ? saved.problems : [];
  const again = { file, text, revision, problems, earlier: await repairs.earlier() };
  const message = saved.kind === 'fault' ? saved.message : notSaved[saved.kind];
  // The typed text goes back only to the person who typed it; nothing stores it.
  const page = configurationPage(again, { is: 'bad', text: message });
  return { kind: 'page', status: 422, page };
}

const notSaved = {
  problems: 'Nothing was saved: svc could not start with this.',
  changed:
    'Nothing was saved: the file was changed by somebody else meanwhile. Copy what you changed, ' +
    'open this page anew, and change it there.',
} as const;

/**
 * Restores the line ends of the file: a form sends each as two characters. Format: HTML,
 * constructing the entry list.
 */
function withLineEnds(text: string, before: string): string {
  return before.includes('\r\n') ? text : text.replaceAll('\r\n', '\n');
}

/** Stores only the missing secrets, whatever else the form contains. */
async function keepSecrets(
  deps: ActDeps,
  fields: URLSearchParams,
  left: AbortSignal,
): Promise<PageAnswer> {
  const why = stuckOf(deps, 'secrets');
  if (why === null) return stateChanged(deps);
  const given = why.missing.flatMap(({ name }, index) => {
    const value = fields.get(`value-${index}`) ?? '';
    return value.trim() === '' ? [] : [[name, value] as const];
  });
  if (given.length === 0) {
    const message = 'Nothing was pasted. Paste a value, then press the button.';
    return showNotice(deps.notices, './', { kind: 'fault', message });
  }
  return restartAfter(deps, deps.repairs.keepSecrets(new Map(given), left));
}

async function unlock(
  deps: ActDeps,
  _fields: URLSearchParams,
  left: AbortSignal,
): Promise<PageAnswer> {
  const why = stuckOf(deps, 'secrets');
  if (why === null) return stateChanged(deps);
  const names = why.missing.map(({ name }) => name);
  return restartAfter(deps, deps.repairs.unlock(names, left));
}

async function openFolder({ repairs, notices }: ActDeps, what: 'folder' | 'logs') {
  const room = what === 'folder' ? 'configuration' : 'log';
  return showNotice(notices, room, await repairs.openInSystem(what));
}

/** Restarts the service after a successful repair. */
async function restartAfter(deps: ActDeps, repair: Promise<Repaired>): Promise<PageAnswer> {
  const done = await repair;
  const told = done.kind === 'done' ? await restarted(deps.application, done) : done;
  return showNotice(deps.notices, './', told);
}

async function restarted<R extends Repaired>(application: Application, done: R): Promise<R> {
  await application.restart();
  return done;
}

function stuckOf<O extends Stuck['of']>(
  { application: { state } }: ActDeps,
  of: O,
): Extract<Stuck, { readonly of: O }> | null {
  if (state.at !== 'needs_you' || state.why.of !== of) return null;
  return state.why as Extract<Stuck, { readonly of: O }>;
}

async function stateChanged({ notices }: ActDeps): Promise<PageAnswer> {
  const message = 'This has changed meanwhile, so nothing was done. Look, and choose again.';
  return showNotice(notices, './', { kind: 'fault', message });
}

function showNotice(notices: Notices, room: string, done: Repaired): PageAnswer {
  const notice =
    done.kind === 'done'
      ? ({ is: 'good', text: done.told } as const)
      : ({ is: 'bad', text: done.message } as const);
  return go(`${room}?told=${notices.put(notice)}`);
}

const go = (to: string): PageAnswer => ({ kind: 'go', to });
