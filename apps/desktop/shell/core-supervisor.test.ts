import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import type { ApplicationState, FromCore, ToCore } from '../desktop.ts';
import type { Connection } from '../lines.ts';
import { CoreSupervisor, type CoreHello, type KnownCore } from './core-supervisor.ts';
import type { CoreEnd, Role } from './life-cycle.ts';

const config = '/home/ada/svc.json';
const origin = 'http://127.0.0.1:2112';
const hello = (pid: number, of = config): CoreHello => ({
  kind: 'core',
  role: 'service',
  pid,
  config: of,
});

/** A core whose end, messages and signals the test controls. */
type Begun = { readonly role: Role; readonly signals: string[]; end(end?: Partial<CoreEnd>): void };

const firstId = 9_000_001;

function keep(before: KnownCore | null = null, role: Role = 'service', drainMs = 60_000) {
  const begun: Begun[] = [];
  const states: ApplicationState['at'][] = [];
  const waiting = new Map<string, (state: void) => void>();
  let known = before;
  const supervisor = new CoreSupervisor({
    config,
    role,
    begin: (as) => {
      const ended = Promise.withResolvers<CoreEnd>();
      const signals: string[] = [];
      const pid = firstId + begun.length;
      begun.push({
        role: as,
        signals,
        end: (end = {}) => ended.resolve({ code: 0, signal: null, lastLines: [], ...end }),
      });
      const signal = (name: string): void => {
        signals.push(name);
        waiting.get(name)?.();
      };
      return { pid, isOwn: true, ended: ended.promise, signal };
    },
    record: {
      read: () => known,
      write: (core) => (known = core),
      remove: () => (known = null),
    },
    log: createLog({ stream: new Writable(), level: 'error', format: 'json' }),
    clock: systemClock,
    onWithdrawn: () => {},
    onState: ({ at }) => {
      states.push(at);
      waiting.get(at)?.();
    },
    onShowWanted: () => states.push('stopped'),
    page: () => 'http://127.0.0.1:4000/app/key/',
    limits: { helloMs: 20, drainMs },
  });
  /** Resolves when that signal was sent, or that state is reached. */
  const when = (what: string): Promise<void> => new Promise((yes) => waiting.set(what, yes));
  const connect = (as: CoreHello) => {
    const told: ToCore[] = [];
    const connection: Connection<ToCore> = {
      send: (message) => void told.push(message),
      end: () => Promise.resolve(),
      [Symbol.dispose]: () => {},
    };
    return { told, ...supervisor.connected(as, connection) };
  };
  return { supervisor, begun, states, when, connect, known: () => known };
}

test('a core that connects is welcomed, serves, and is asked for codes and tokens', async () => {
  const { supervisor, begun, states, connect, known } = keep();
  supervisor.open();
  assert.equal(await supervisor.link.offer(), null, 'nobody is there to ask');
  const core = connect(hello(firstId));
  core.onMessage({ kind: 'at_work', origin, canWrite: true });
  assert.deepEqual(states, ['starting', 'serving']);
  assert.deepEqual(known(), { pid: firstId, config });
  const [offer, grant] = [supervisor.link.offer(), supervisor.link.grant()];
  assert.deepEqual(core.told, [
    { kind: 'welcome', page: 'http://127.0.0.1:4000/app/key/' },
    { kind: 'offer', question: 1 },
    { kind: 'grant', question: 2 },
  ]);
  core.onMessage({ kind: 'granted', question: 2, token: 'a token' });
  core.onMessage({ kind: 'offered', question: 1, url: `${origin}/ui#code` });
  assert.deepEqual([await offer, await grant], [`${origin}/ui#code`, 'a token']);
  const lost = supervisor.link.offer();
  core.onClose();
  assert.equal(await lost, null);
  begun[0]!.end();
  await turn();
  assert.equal(known(), null);
  supervisor.quit();
  await supervisor.over;
});

test('it is ended by a message, before it has connected by a signal, late by a kill', async () => {
  const connected = keep(null, 'service', 20);
  connected.supervisor.open();
  const core = connected.connect(hello(firstId));
  const killed = connected.when('SIGKILL');
  connected.supervisor.quit();
  assert.deepEqual(core.told.at(-1), { kind: 'stop' });
  assert.deepEqual(connected.begun[0]!.signals, []);
  await killed;
  connected.begun[0]!.end({ code: null, signal: 'SIGKILL' });
  await connected.supervisor.over;

  const silent = keep();
  silent.supervisor.open();
  silent.supervisor.quit();
  assert.deepEqual(silent.begun[0]!.signals, ['SIGTERM']);
  const late = silent.connect(hello(firstId));
  assert.ok(
    late.told.some(({ kind }) => kind === 'stop'),
    'it hears of it when it connects',
  );
  silent.begun[0]!.end();
  await silent.supervisor.over;
});

/** A process that lives until the test ends it. */
async function stranger() {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const exited = once(child, 'exit');
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { pid: child.pid!, end, [Symbol.asyncDispose]: end };
}

test('the core of an earlier shell goes on as it is, and its end is seen', async () => {
  await using before = await stranger();
  const { supervisor, begun, when, connect } = keep({ pid: before.pid, config });
  supervisor.open();
  const core = connect(hello(before.pid));
  core.onMessage({ kind: 'at_work', origin, canWrite: false });
  assert.deepEqual([supervisor.state.at, begun.length], ['serving', 0]);
  const crashed = when('crashed');
  core.onClose();
  await before.end();
  await crashed;
  supervisor.quit();
  await supervisor.over;
});

test('the core of before that says nothing is not waited for', async () => {
  await using before = await stranger();
  const { supervisor, begun, when } = keep({ pid: before.pid, config });
  const starting = when('starting');
  supervisor.open();
  assert.equal(begun.length, 0);
  await starting;
  assert.equal(begun.length, 1);
  supervisor.quit();
  begun[0]!.end();
  await supervisor.over;
});

test('one of another configuration ends first, then ours begins', async () => {
  await using before = await stranger();
  const { supervisor, begun, when, connect } = keep({ pid: before.pid, config: '/other.json' });
  supervisor.open();
  const other = connect(hello(before.pid, '/other.json'));
  assert.deepEqual(other.told, [{ kind: 'stop' }]);
  const starting = when('starting');
  await before.end();
  await starting;
  assert.equal(begun.length, 1);
  const second = connect(hello(7));
  assert.deepEqual(second.told, [{ kind: 'stop' }], 'there is one already');
  supervisor.quit();
  begun[0]!.end();
  await supervisor.over;
});

test('why it is stuck is what the person is told, and what it asks for is done', async () => {
  const { supervisor, begun, states, when, connect } = keep(null, 'first_run');
  supervisor.open();
  const core = connect({ ...hello(firstId), role: 'first_run' });
  const say = (message: FromCore): void => core.onMessage(message);
  say({ kind: 'show_wanted' });
  assert.deepEqual(states, ['starting', 'stopped'], 'a window was asked for');
  say({ kind: 'at_work', origin, canWrite: true });
  assert.equal(supervisor.state.at, 'first_run');
  say({ kind: 'written' });
  assert.deepEqual(core.told.at(-1), { kind: 'stop' });
  begun[0]!.end();
  await turn();
  assert.deepEqual(
    begun.map(({ role }) => role),
    ['first_run', 'service'],
  );
  const service = connect(hello(firstId + 1));
  const why = { of: 'in_use', message: 'Another svc has it.' } as const;
  service.onMessage({ kind: 'stuck', why });
  const needed = when('needs_you');
  begun[1]!.end({ code: 78 });
  await needed;
  assert.deepEqual(supervisor.state, { at: 'needs_you', why });
  supervisor.quit();
  await supervisor.over;
});
