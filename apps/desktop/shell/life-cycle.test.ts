import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SteadyTime } from '../../../src/lib/clock.ts';
import type { Stuck } from '../desktop.ts';
import { newCycle, step, type Act, type Cycle, type CycleEvent, type Role } from './life-cycle.ts';

const origin = 'http://127.0.0.1:2112';
const atWork: CycleEvent = { kind: 'at_work', origin, canWrite: true };
const why: Stuck = { of: 'in_use', message: 'Another svc has the database.' };

const endedBy = (code: number | null, signal: string | null = null): CycleEvent => ({
  kind: 'ended',
  end: { code, signal, lastLines: ['the last line'] },
});

/** Runs the state machine, and records the acts apart from the states. */
class Machine {
  cycle: Cycle;
  acts: readonly Act[] = [];
  timeMs = 0;

  constructor(role: Role = 'service') {
    this.cycle = newCycle(role);
  }

  happen(...events: readonly CycleEvent[]): this {
    for (const event of events) {
      const clock = { now: () => 1_000_000 + this.timeMs, steady: () => this.timeMs as SteadyTime };
      ({ cycle: this.cycle, acts: this.acts } = step(this.cycle, event, clock));
    }
    return this;
  }

  get at(): string {
    return this.cycle.state.at;
  }
}

test('a service begins, and serves when it says so', () => {
  const machine = new Machine().happen({ kind: 'opened' });
  assert.equal(machine.at, 'starting');
  assert.deepEqual(machine.acts, [{ kind: 'begin', role: 'service' }]);
  machine.happen(atWork);
  assert.deepEqual(machine.cycle.state, { at: 'serving', origin, canWrite: true });
  const { state } = machine.cycle;
  assert.equal(machine.happen(atWork).cycle.state, state, 'said again, it is the same state');
});

test('a service of before is found as it is, and nothing is begun', () => {
  const machine = new Machine('first_run').happen({ kind: 'found', role: 'service' });
  assert.deepEqual([machine.at, machine.acts], ['starting', []]);
  assert.equal(machine.happen(atWork).at, 'serving');
});

test('one of before that was told to end serves no more, and is followed', () => {
  const machine = new Machine().happen({ kind: 'found', role: 'service' }, { kind: 'leaving' });
  assert.deepEqual([machine.at, machine.acts], ['starting', []]);
  machine.happen(endedBy(null));
  assert.deepEqual(machine.acts, [{ kind: 'begin', role: 'service' }]);
  machine.happen(atWork, { kind: 'quit' }, { kind: 'leaving' });
  assert.equal(machine.at, 'stopping', 'as it was asked to');
  assert.equal(machine.happen(endedBy(0)).at, 'stopped');
});

test('it is begun again after 1.5, 5 and 30 s; the fourth crash in a minute is the last', () => {
  const machine = new Machine().happen({ kind: 'opened' }, atWork);
  for (const ms of [1_500, 5_000, 30_000]) {
    machine.happen(endedBy(null, 'SIGKILL'));
    assert.deepEqual(machine.acts, [{ kind: 'wait', ms }]);
    assert.deepEqual(machine.cycle.state, {
      at: 'crashed',
      nextTryAt: 1_000_000 + machine.timeMs + ms,
      how: 'The service was ended by the signal SIGKILL.',
      lastLines: ['the last line'],
    });
    machine.timeMs += ms;
    machine.happen({ kind: 'due' });
    assert.deepEqual(machine.acts, [{ kind: 'begin', role: 'service' }]);
  }
  machine.happen(endedBy(1));
  assert.deepEqual(machine.acts, []);
  assert.ok(machine.cycle.state.at === 'crashed' && machine.cycle.state.nextTryAt === null);
  machine.happen({ kind: 'restart' });
  assert.deepEqual(machine.acts, [{ kind: 'begin', role: 'service' }]);
  machine.happen(endedBy(1));
  assert.deepEqual(machine.acts, [{ kind: 'wait', ms: 1_500 }], 'the person has begun anew');
});

test('a crash that is a minute old does not count', () => {
  const machine = new Machine().happen({ kind: 'opened' }, atWork, endedBy(1), { kind: 'due' });
  machine.timeMs = 60_000;
  assert.deepEqual(machine.happen(endedBy(1)).acts, [{ kind: 'wait', ms: 1_500 }]);
});

test('what no restart would help is not tried again until the person says so', () => {
  const said = new Machine().happen({ kind: 'opened' }, { kind: 'stuck', why }, endedBy(1));
  assert.deepEqual(said.cycle.state, { at: 'needs_you', why });
  assert.deepEqual(said.acts, []);
  said.happen({ kind: 'restart' });
  assert.equal(said.happen(endedBy(null)).at, 'crashed', 'what was said before is forgotten');
  for (const code of [78, 2]) {
    const unsaid = new Machine().happen({ kind: 'opened' }, endedBy(code));
    const other = { of: 'other', code: `ended_${code}`, message: 'the last line' };
    assert.deepEqual(unsaid.cycle.state, { at: 'needs_you', why: other });
    unsaid.happen({ kind: 'restart' });
    assert.deepEqual(unsaid.acts, [{ kind: 'begin', role: 'service' }]);
    assert.equal(unsaid.happen(endedBy(null)).at, 'crashed', 'what was said before is forgotten');
  }
});

test('a restart ends what is there in order, once, and begins it again', () => {
  const machine = new Machine().happen({ kind: 'opened' }, atWork, { kind: 'restart' });
  assert.deepEqual([machine.at, machine.acts], ['starting', [{ kind: 'stop' }]]);
  assert.deepEqual(machine.happen({ kind: 'restart' }).acts, []);
  assert.equal(machine.happen(atWork).at, 'starting', 'it says so on its way out');
  assert.deepEqual(machine.happen(endedBy(0)).acts, [{ kind: 'begin', role: 'service' }]);
});

test('the first run is followed by the service', () => {
  const machine = new Machine('first_run').happen({ kind: 'opened' });
  assert.deepEqual(machine.acts, [{ kind: 'begin', role: 'first_run' }]);
  assert.deepEqual(machine.happen(atWork).cycle.state, { at: 'first_run', origin });
  assert.deepEqual(machine.happen({ kind: 'written' }).acts, [{ kind: 'stop' }]);
  assert.deepEqual(machine.happen(endedBy(0)).acts, [{ kind: 'begin', role: 'service' }]);
});

test('a first run that is left without a configuration ends the application', () => {
  const machine = new Machine('first_run').happen({ kind: 'opened' }, atWork, endedBy(0));
  assert.deepEqual([machine.at, machine.acts], ['stopped', [{ kind: 'end' }]]);
});

test('it ends when the core has ended, and nothing begins after that', () => {
  const machine = new Machine().happen({ kind: 'opened' }, atWork, { kind: 'quit' });
  assert.deepEqual([machine.at, machine.acts], ['stopping', [{ kind: 'stop' }]]);
  assert.deepEqual(machine.happen({ kind: 'restart' }, { kind: 'quit' }).acts, []);
  machine.happen(endedBy(1));
  assert.deepEqual([machine.at, machine.acts], ['stopped', [{ kind: 'end' }]]);
  assert.deepEqual(machine.happen({ kind: 'due' }, { kind: 'opened' }).acts, []);
});

test('quit during a restart ends it; quit between two tries ends at once', () => {
  const restarting = new Machine().happen({ kind: 'opened' }, { kind: 'restart' });
  assert.deepEqual(restarting.happen({ kind: 'quit' }).acts, []);
  assert.equal(restarting.happen(endedBy(0)).at, 'stopped');
  const crashed = new Machine().happen({ kind: 'opened' }, endedBy(1), { kind: 'quit' });
  assert.deepEqual([crashed.at, crashed.acts], ['stopped', [{ kind: 'end' }]]);
});
