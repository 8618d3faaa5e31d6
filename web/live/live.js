// @ts-check
/**
 * The live view: asks for the status every two seconds while the page is seen, and shows it.
 * Everything is put in as text: nothing that comes from the service is ever read as HTML.
 *
 * @import { ChannelStatus, ModelStatus, ProviderStatus, Status } from '../../src/admin/admin.ts'
 * @import { TimesStatus } from '../../src/admin/admin.ts'
 */
import { byId, fill, make, setText } from './elements.js';
import { countOf, lengthOf, manyOf, timeOf } from './words.js';

const pauseMs = 2_000;
const patienceMs = 5_000;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let asking = false;
/** @type {number | null} When the service was last heard of. */
let heardAt = null;

/** @param {Status} status */
function showNumbers(status) {
  const { counts } = status;
  /** @type {[string, number, 'first' | 'second', boolean][]} */
  const numbers = [
    ['accepted', counts.accepted, 'first', false],
    ['waiting', counts.waiting, 'first', false],
    ['in flight', counts.inFlight, 'first', false],
    ['delivered', counts.delivered, 'first', false],
    ['refused', counts.refused, 'second', false],
    ['sent twice', counts.duplicates, 'second', false],
    ['dead letters', counts.deadLetters, 'second', counts.deadLetters > 0],
    ['faults', counts.faults, 'second', counts.faults > 0],
  ];
  fill(
    'numbers',
    numbers.map(([name, count, rank, alarm]) =>
      make('div', { alarm, rank }, make('dt', {}, name), make('dd', {}, countOf(count))),
    ),
  );
  byId('first').hidden = counts.accepted > 0;
  setText('first', `No message has come in yet. ${firstStepOf(status)}`);
}

/** @param {Status} status */
function firstStepOf({ channels }) {
  const open = channels.find(({ address, state }) => address !== null && state === 'up');
  if (open === undefined) return 'Look below for the channel that should bring one.';
  return `Send one to ${open.address}; docs/webhook.md has a line to copy.`;
}

/** @param {Status} status */
function showTimes({ times }) {
  /** @type {[string, TimesStatus][]} */
  const rows = [
    ['Accepted to begun', times.waited],
    ['Begun to decided', times.turns],
    ['Accepted to delivered', times.endToEnd],
  ];
  fill(
    'times',
    rows.map(([what, { p50Ms, p95Ms }]) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, what),
        make('td', { class: 'number' }, timeOf(p50Ms)),
        make('td', { class: 'number' }, timeOf(p95Ms)),
      ),
    ),
  );
}

/** @param {Status} status */
function showProviders({ providers }) {
  const none = make('tr', {}, make('td', { class: 'soft' }, 'No model was asked yet.'));
  const asked = providers.filter(({ answers, failures, givenUp }) => answers + failures + givenUp);
  fill('providers', asked.length === 0 ? [none] : asked.map(rowOf));

  /** @param {ProviderStatus} provider */
  function rowOf({ provider, answers, failures, reasons, times }) {
    const name = make('th', { scope: 'row' }, provider);
    const why = reasons.map(({ code, count }) => `${code} ${countOf(count)}`).join(', ');
    if (why !== '') name.append(make('span', { class: 'detail' }, why));
    return make(
      'tr',
      {},
      name,
      make('td', { class: 'number' }, countOf(answers)),
      make('td', { class: 'number', alarm: failures > 0 }, countOf(failures)),
      make('td', { class: 'number' }, timeOf(times.p95Ms)),
    );
  }
}

/** @param {Status} status */
function showChannels(status) {
  const now = status.startedAt + status.uptimeMs;
  fill(
    'channels',
    status.channels.map((channel) => rowOf(channel)),
  );

  /** @param {ChannelStatus} channel */
  function rowOf(channel) {
    const rows = status.backlog.find((entry) => entry.channel === channel.type);
    const name = make('th', { scope: 'row' }, channel.type);
    if (channel.brain !== null) detail(name, `to ${channel.brain}`);
    if (channel.address !== null) detail(name, channel.address);
    const state = make(
      'td',
      {},
      make('span', { class: 'state', state: channel.state }, channel.state),
    );
    if (channel.reason !== null) detail(state, channel.reason);
    if (channel.since !== null) {
      const since = `for ${lengthOf(Math.max(0, now - channel.since))}`;
      state.append(make('span', { class: 'detail line' }, since));
    }
    if (channel.lastSeenAt !== null) {
      const heard = `heard of ${lengthOf(Math.max(0, now - channel.lastSeenAt))} ago`;
      state.append(make('span', { class: 'detail line' }, heard));
    }
    return make(
      'tr',
      {},
      name,
      state,
      make('td', { class: 'number' }, countOf(rows?.inbox ?? 0)),
      make('td', { class: 'number' }, countOf(rows?.outbox ?? 0)),
    );
  }
}

/** @param {HTMLElement} cell
 * @param {string} text */
function detail(cell, text) {
  cell.append(make('span', { class: 'detail' }, text));
}

/** @param {Status} status */
function showBrains({ brains, channels }) {
  fill(
    'brains',
    brains.map((brain) => {
      const from = channels.filter((channel) => channel.brain === brain.name);
      const route =
        from.length === 0
          ? 'not started: no route leads here'
          : `asked by ${from.map(({ type }) => type).join(', ')}`;
      const kind = `${brain.sensitivity} · ${brain.dispatch} · ${brain.policy}`;
      return make(
        'article',
        { class: 'card' },
        make('h3', {}, brain.name),
        make('span', { class: 'detail' }, `${kind} · ${route}`),
        make('ol', {}, ...brain.models.map(modelOf)),
      );
    }),
  );
}

/** @param {ModelStatus} model */
function modelOf({ name, locality, state }) {
  if (state === 'asked') {
    return make('li', {}, name, make('span', { class: 'detail' }, locality));
  }
  const why = `${locality}: never asked, since this brain is private`;
  return make('li', {}, make('s', {}, name), make('span', { class: 'detail' }, why));
}

/** @param {Status} status */
function showWarnings(status) {
  byId('warnings-section').hidden = status.warnings.length === 0;
  fill(
    'warnings',
    status.warnings.map(({ path, message, remedy }) => {
      const sentence = message.charAt(0).toUpperCase() + message.slice(1);
      const where = path === '' ? remedy : `${path}: ${remedy}`;
      return make('li', {}, sentence, make('span', { class: 'detail' }, where));
    }),
  );
}

/** @param {Status} status */
function show(status) {
  const working = status.status === 'ok';
  byId('main').dataset['heard'] = 'now';
  sayHealth(status.status, working ? 'Working' : `Failing: ${status.reason ?? 'see its log'}`);
  setText('notes', notesOf(status));
  setText('uptime', lengthOf(status.uptimeMs));
  setText('version', status.version);
  setText('revision', status.revision);
  setText('storage', status.storage === 'memory' ? 'memory: ends with the run' : status.storage);
  showNumbers(status);
  showTimes(status);
  showProviders(status);
  showChannels(status);
  showBrains(status);
  showWarnings(status);
}

/** What is not as it should be, in one line.
 * @param {Status} status */
function notesOf({ channels, counts, warnings }) {
  const ill = channels.filter(({ state }) => state === 'degraded' || state === 'failed');
  const notes = ill.map(({ type, state }) => `${type} is ${state}`);
  if (counts.deadLetters > 0) notes.push(manyOf(counts.deadLetters, 'dead letter'));
  if (warnings.length > 0) notes.push(manyOf(warnings.length, 'warning'));
  return notes.join(' · ');
}

function showLost() {
  const since = heardAt === null ? '' : ` since ${new Date(heardAt).toLocaleTimeString()}`;
  if (heardAt !== null) byId('main').dataset['heard'] = 'before';
  sayHealth('lost', `No answer from the service${since}`);
  setText('notes', heardAt === null ? 'Is it running?' : 'What is below is from then.');
}

/** @param {string} state
 * @param {string} text */
function sayHealth(state, text) {
  byId('health').dataset['state'] = state;
  setText('health', text);
  document.title = state === 'ok' ? 'svc' : `svc: ${text}`;
}

async function ask() {
  const signal = AbortSignal.timeout(patienceMs);
  const response = await fetch('/api/v1/status', { cache: 'no-store', signal });
  if (!response.ok) throw new Error(`It answered ${response.status}`);
  return /** @type {Promise<Status>} */ (response.json());
}

/** One round; the next one follows while the page is seen. */
async function refresh() {
  clearTimeout(timer);
  if (asking || document.hidden) return;
  asking = true;
  const status = await ask().catch(() => null);
  asking = false;
  timer = setTimeout(refresh, pauseMs);
  if (status === null) return showLost();
  heardAt = Date.now();
  show(status);
}

document.addEventListener('visibilitychange', () => void refresh());
void refresh();
