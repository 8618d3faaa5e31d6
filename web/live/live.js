// @ts-check
/**
 * The live view: asks for the status every two seconds while the page is seen, and shows it.
 * Everything is put in as text: nothing that comes from the service is ever read as HTML.
 *
 * @import { BrainStatus, ChannelStatus, ModelStatus, Status } from '../../src/admin/admin.ts'
 */

const pauseMs = 2_000;
const patienceMs = 5_000;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let asking = false;
/** @type {number | null} When the service was last heard of. */
let heardAt = null;

/** @param {string} id */
function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element ${id}`);
  return element;
}

/**
 * @param {string} tag
 * @param {{ class?: string, state?: string, alarm?: boolean, scope?: string }} how
 * @param {...(Node | string)} children
 */
function make(tag, how, ...children) {
  const element = document.createElement(tag);
  if (how.class !== undefined) element.className = how.class;
  if (how.state !== undefined) element.dataset['state'] = how.state;
  if (how.alarm === true) element.dataset['alarm'] = 'yes';
  if (how.scope !== undefined) element.setAttribute('scope', how.scope);
  element.append(...children);
  return element;
}

/** Leaves what is the same alone, so that a screen reader does not say it again.
 * @param {string} id
 * @param {string} text */
function setText(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

/** Leaves equal content in place: a selection in it, or a reader's place, is not lost.
 * @param {string} id
 * @param {HTMLElement[]} children */
function fill(id, children) {
  const element = byId(id);
  const next = /** @type {HTMLElement} */ (element.cloneNode(false));
  next.append(...children);
  if (!element.isEqualNode(next)) element.replaceChildren(...next.childNodes);
}

/** @param {number} ms */
function lengthOf(ms) {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days ${hours % 24} h`;
}

/** @param {number | null} ms */
function timeOf(ms) {
  if (ms === null) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** @param {number} count */
const countOf = (count) => count.toLocaleString('en');

/** @param {Status} status */
function showNumbers(status) {
  const { counts } = status;
  /** @type {[string, number, boolean][]} */
  const numbers = [
    ['accepted', counts.accepted, false],
    ['settled', counts.settled, false],
    ['waiting', counts.waiting, false],
    ['in flight', counts.inFlight, false],
    ['refused', counts.refused, false],
    ['dead letters', counts.deadLetters, counts.deadLetters > 0],
    ['faults', counts.faults, counts.faults > 0],
  ];
  fill(
    'numbers',
    numbers.map(([name, count, alarm]) =>
      make('div', { alarm }, make('dt', {}, name), make('dd', {}, countOf(count))),
    ),
  );
}

/** @param {Status} status */
function showTimes(status) {
  /** @type {[string, { p50Ms: number | null, p95Ms: number | null }, string][]} */
  const rows = [
    ['Waiting for its turn', status.times.waited, ''],
    ['Turn: message to decision', status.times.turns, ''],
    ['From accepted to delivered', status.times.endToEnd, ''],
  ];
  for (const provider of status.providers) {
    rows.push([`Answer of ${provider.provider}`, provider.times, countOf(provider.failures)]);
  }
  fill(
    'times',
    rows.map(([what, times, failed]) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, what),
        make('td', { class: 'number' }, timeOf(times.p50Ms)),
        make('td', { class: 'number' }, timeOf(times.p95Ms)),
        make('td', { class: 'number' }, failed),
      ),
    ),
  );
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
    const state = make(
      'td',
      {},
      make('span', { class: 'state', state: channel.state }, channel.state),
    );
    if (channel.since !== null) {
      const since = ` for ${lengthOf(Math.max(0, now - channel.since))}`;
      state.append(make('span', { class: 'soft' }, since));
    }
    if (channel.reason !== null) state.append(make('div', { class: 'reason' }, channel.reason));
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, channel.type),
      state,
      make('td', {}, channel.brain ?? '–'),
      make('td', { class: 'number' }, countOf(rows?.inbox ?? 0)),
      make('td', { class: 'number' }, countOf(rows?.outbox ?? 0)),
    );
  }
}

/** @param {Status} status */
function showBrains(status) {
  fill(
    'brains',
    status.brains.map((brain) =>
      make(
        'article',
        { class: 'card' },
        make('h3', {}, brain.name),
        make('p', { class: 'soft' }, `${brain.sensitivity} · ${brain.dispatch} · ${brain.policy}`),
        make('ul', {}, ...brain.models.map(modelOf)),
      ),
    ),
  );
}

/** @param {ModelStatus} model */
function modelOf(model) {
  if (model.state === 'asked') {
    return make('li', {}, model.name, make('span', { class: 'soft' }, ` · ${model.locality}`));
  }
  const why = ` · ${model.locality}, never asked: this brain is private`;
  return make('li', {}, make('s', {}, model.name), make('span', { class: 'soft' }, why));
}

/** @param {Status} status */
function showWarnings(status) {
  byId('warnings-section').hidden = status.warnings.length === 0;
  fill(
    'warnings',
    status.warnings.map(({ path, message, remedy }) =>
      make(
        'li',
        {},
        path === '' ? message : `${path}: ${message}`,
        make('div', { class: 'reason' }, remedy),
      ),
    ),
  );
}

/** @param {Status} status */
function show(status) {
  byId('health').dataset['state'] = status.status;
  setText(
    'health',
    status.status === 'ok' ? 'Working' : `Failing: ${status.reason ?? 'see its log'}`,
  );
  setText('uptime', lengthOf(status.uptimeMs));
  setText('version', status.version);
  setText('revision', status.revision);
  setText('storage', status.storage === 'memory' ? 'memory only' : status.storage);
  showNumbers(status);
  showTimes(status);
  showChannels(status);
  showBrains(status);
  showWarnings(status);
}

function showLost() {
  byId('health').dataset['state'] = 'lost';
  const since = heardAt === null ? '' : ` since ${new Date(heardAt).toLocaleTimeString()}`;
  setText('health', `No answer from the service${since}`);
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
