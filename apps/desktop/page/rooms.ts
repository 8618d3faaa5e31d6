/** The page of the application at its addresses: what is looked at, and what is waited for. */
import type { Application, ApplicationState } from '../desktop.ts';
import type { LogName, Repairs } from '../repairs/repairs.ts';
import { acts, pagesOf } from './acts.ts';
import type { PageAnswer } from './answers.ts';
import type { Notice } from './frame.ts';
import type { Notices } from './notices.ts';
import { refusalPage } from './refusals.ts';
import { configurationPage, logPage, settingsPage } from './room-pages.ts';
import { closePage, endedPage, statePage } from './state-page.ts';

export type RoomDeps = {
  readonly application: Application;
  readonly repairs: Repairs;
  readonly notices: Notices;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

export type Visit = {
  /** After the key, without a query. */
  readonly room: string;
  readonly query: URLSearchParams;
  /** Aborts when nobody waits for the answer any more, or the server closes. */
  readonly left: AbortSignal;
};

/** How long a page waits for what comes next before it asks again. */
const holdMs = 20_000;
/** At least so long it is shown, however often the state changes. */
const shownMs = 250;

/** @returns null: there is no such room */
export async function look(deps: RoomDeps, visit: Visit): Promise<PageAnswer | null> {
  const notice = deps.notices.get(visit.query.get('told'));
  switch (visit.room) {
    case '':
      return first(deps, notice, visit);
    case 'wait':
      return wait(deps, visit);
    case 'close':
      return page(closePage(notice));
    case 'log': {
      const of: LogName = visit.query.get('of') === 'application' ? 'application' : 'service';
      return page(logPage(of, await deps.repairs.lastLines(of), notice));
    }
    case 'configuration':
      return page(await configuration(deps, notice));
    case 'settings':
      return page(settingsPage(deps.application.facts, notice));
    default:
      // Where a button leads to when its page is loaded anew.
      return acts.has(visit.room) ? { kind: 'go', to: './' } : null;
  }
}

/** Whoever waited for a core that serves by now is led to it, though they heard of it no more. */
async function first(deps: RoomDeps, notice: Notice | null, visit: Visit): Promise<PageAnswer> {
  const { application } = deps;
  if (visit.query.has('waited') && notice === null && hasPages(application.state)) {
    const url = await pagesOf(application, visit.left);
    if (url !== null) return { kind: 'go', to: url };
  }
  return page(await stateNow(deps, notice, visit));
}

async function stateNow(deps: RoomDeps, notice: Notice | null, { query }: Visit) {
  const { application, repairs, now } = deps;
  const { state, facts } = application;
  const mayTakeBack = state.at === 'needs_you' && /^(?:config|other)$/.test(state.why.of);
  const earlier = mayTakeBack ? await repairs.earlier() : [];
  const next = notice === null ? 'wait' : `wait?told=${query.get('told')}`;
  return statePage({ state, facts, earlier, notice, next, now: now() });
}

async function configuration({ application, repairs }: RoomDeps, notice: Notice | null) {
  const { config: file } = application.facts;
  const [read, earlier] = [await repairs.read(), await repairs.earlier()];
  if (read.kind === 'text') {
    const { text, revision } = read;
    return configurationPage({ file, text, revision, problems: [], earlier }, notice);
  }
  const editing = { file, text: null, revision: '', problems: [], earlier };
  return configurationPage(editing, notice ?? { is: 'bad', text: read.message });
}

/** Answers once it stands otherwise; what serves then is led to, unless something is to be told. */
async function wait(deps: RoomDeps, visit: Visit): Promise<PageAnswer> {
  const { application, notices } = deps;
  const told = visit.query.get('told');
  const notice = notices.get(told);
  const since = application.state;
  if (isPassing(since)) await changed(application, since, visit.left);
  // The one who waits sees the listener close.
  if (visit.left.aborted) return page(endedPage());
  const { state } = application;
  if (!hasPages(state) || notice !== null) {
    return { kind: 'go', to: notice === null ? './?waited' : `./?told=${told}` };
  }
  const url = await pagesOf(application, visit.left);
  return { kind: 'go', to: url ?? './' };
}

/** Resolves as well where nothing changed for long, or nobody waits any more. */
async function changed(
  application: Application,
  since: ApplicationState,
  left: AbortSignal,
): Promise<void> {
  const ends = AbortSignal.any([left, AbortSignal.timeout(holdMs)]);
  const shown = new Promise((resolve) => setTimeout(resolve, shownMs));
  // It rejects when the signal aborts: then what is so now is shown.
  await application.changed(since, ends).catch(() => {});
  await shown;
}

const isPassing = ({ at, ...more }: ApplicationState): boolean =>
  at === 'starting' || at === 'stopping' || ('nextTryAt' in more && more.nextTryAt !== null);

const hasPages = ({ at }: ApplicationState): boolean => at === 'serving' || at === 'first_run';

const page = (text: string, status = 200): PageAnswer => ({ kind: 'page', status, page: text });

export const nothingHere = page(
  refusalPage('There is nothing here', 'This page belongs to a svc that has ended, or to none.'),
  404,
);
