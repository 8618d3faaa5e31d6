/**
 * The state machine of the core's life, without a process, a timer or a clock. Each event gives the
 * next state and the acts to perform.
 *
 * starting → serving or first_run; both → starting (restart, or the first run wrote a file)
 * core ended: on request → starting or stopped; stuck, 78, 2 → needs_you; else → crashed
 * crashed → starting (after a pause, or by the person); needs_you → starting (by the person)
 * anything → stopping → stopped
 */
import { minuteMs } from '../../../src/lib/durations.ts';
import type { Clock, SteadyTime } from '../../../src/lib/clock.ts';
import type { ApplicationState, Stuck } from '../desktop.ts';

export type Role = 'service' | 'first_run';

/** How a process ended. With both null, it is gone and nobody saw how. */
export type CoreEnd = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly lastLines: readonly string[];
};

export type Cycle = {
  readonly state: ApplicationState;
  /** The role of the current core, or of the next one. */
  readonly role: Role;
  readonly hasCore: boolean;
  /** The step after the end of the current core; null: nobody asked it to end. */
  readonly next: 'begin' | 'stop' | null;
  /** The reason that the current core gave for its end. */
  readonly stuck: Stuck | null;
  /** The times of the crashes within the last minute. */
  readonly crashedAt: readonly SteadyTime[];
};

export type CycleEvent =
  | { readonly kind: 'opened' }
  /** An earlier shell's core is connected, and goes on. */
  | { readonly kind: 'found'; readonly role: Role }
  | { readonly kind: 'at_work'; readonly origin: string; readonly canWrite: boolean }
  /** An earlier shell, or somebody else, told the current core to end. */
  | { readonly kind: 'leaving' }
  | { readonly kind: 'stuck'; readonly why: Stuck }
  /** The first run wrote a configuration. */
  | { readonly kind: 'written' }
  | { readonly kind: 'ended'; readonly end: CoreEnd }
  /** The pause before the next try is over. */
  | { readonly kind: 'due' }
  | { readonly kind: 'restart' }
  | { readonly kind: 'quit' };

/** `begin` and `end` also cancel a `wait`. */
export type Act =
  | { readonly kind: 'begin'; readonly role: Role }
  | { readonly kind: 'stop' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'end' };

type Step = { readonly cycle: Cycle; readonly acts: readonly Act[] };

/**
 * The pauses after the first, second and third crash within a minute. After the fourth, nothing is
 * tried.
 */
const pausesMs = [1_500, 5_000, 30_000] as const;
/** The exit codes for which a restart does not help: a configuration problem, and wrong usage. */
const hopelessCodes: ReadonlySet<number> = new Set([78, 2]);

export function newCycle(role: Role): Cycle {
  const state = { at: 'starting' } as const;
  return { state, role, hasCore: false, next: null, stuck: null, crashedAt: [] };
}

export function step(cycle: Cycle, event: CycleEvent, clock: Clock): Step {
  switch (event.kind) {
    case 'opened':
    case 'due':
      return cycle.hasCore || isEnding(cycle) ? { cycle, acts: [] } : begin(cycle, cycle.role);
    case 'found':
      return { cycle: { ...begin(cycle, event.role).cycle }, acts: [] };
    case 'at_work':
      return { cycle: { ...cycle, state: atWork(cycle, event) }, acts: [] };
    case 'leaving':
      return { cycle: leaving(cycle), acts: [] };
    case 'stuck':
      return { cycle: { ...cycle, stuck: event.why }, acts: [] };
    case 'written':
      return again({ ...cycle, role: 'service' });
    case 'ended':
      return ended(cycle, event.end, clock);
    case 'restart':
      return again({ ...cycle, crashedAt: [] });
    case 'quit':
      return quit(cycle);
    default:
      return event satisfies never;
  }
}

const isEnding = ({ state }: Cycle): boolean => state.at === 'stopping' || state.at === 'stopped';

function begin(cycle: Cycle, role: Role): Step {
  const state = { at: 'starting' } as const;
  const begun = { ...cycle, state, role, hasCore: true, next: null, stuck: null };
  return { cycle: begun, acts: [{ kind: 'begin', role }] };
}

/** While a core is asked to end, its messages do not change the state. */
function atWork(
  { state, role, hasCore, next }: Cycle,
  { origin, canWrite }: { readonly origin: string; readonly canWrite: boolean },
): ApplicationState {
  if (!hasCore || next !== null) return state;
  // The core sends the same message at each connection.
  if (state.at === 'serving' && state.origin === origin && state.canWrite === canWrite) {
    return state;
  }
  return role === 'first_run' ? { at: 'first_run', origin } : { at: 'serving', origin, canWrite };
}

/** The core takes no more work, and the next core follows its end. */
function leaving(cycle: Cycle): Cycle {
  if (!cycle.hasCore || cycle.next !== null) return cycle;
  return { ...cycle, next: 'begin', state: { at: 'starting' } };
}

/** Drains the current core and starts the next one. */
function again(cycle: Cycle): Step {
  if (isEnding(cycle)) return { cycle, acts: [] };
  if (!cycle.hasCore) return begin(cycle, cycle.role);
  const acts: readonly Act[] = cycle.next === null ? [{ kind: 'stop' }] : [];
  return { cycle: { ...cycle, next: 'begin', state: { at: 'starting' } }, acts };
}

function quit(cycle: Cycle): Step {
  if (isEnding(cycle)) return { cycle, acts: [] };
  if (!cycle.hasCore) return stopped(cycle);
  const acts: readonly Act[] = cycle.next === null ? [{ kind: 'stop' }] : [];
  return { cycle: { ...cycle, next: 'stop', state: { at: 'stopping' } }, acts };
}

function stopped(cycle: Cycle): Step {
  return { cycle: { ...cycle, state: { at: 'stopped' } }, acts: [{ kind: 'end' }] };
}

function ended(before: Cycle, end: CoreEnd, clock: Clock): Step {
  const cycle = { ...before, hasCore: false };
  if (cycle.next === 'stop') return stopped(cycle);
  if (cycle.next === 'begin') return begin(cycle, cycle.role);
  const why = cycle.stuck ?? whyHopeless(end);
  if (why !== null) return { cycle: { ...cycle, state: { at: 'needs_you', why } }, acts: [] };
  // The person left the first run, so there is nothing to go on with.
  if (cycle.role === 'first_run' && end.code === 0) return stopped(cycle);
  return crashed(cycle, end, clock);
}

function crashed(cycle: Cycle, end: CoreEnd, { now, steady }: Clock): Step {
  const at = steady();
  const crashedAt = [...cycle.crashedAt.filter((one) => at - one < minuteMs), at];
  const pauseMs = pausesMs[crashedAt.length - 1] ?? null;
  const nextTryAt = pauseMs === null ? null : now() + pauseMs;
  const { lastLines } = end;
  const state = { at: 'crashed', nextTryAt, how: describeEnd(end), lastLines } as const;
  const acts: readonly Act[] = pauseMs === null ? [] : [{ kind: 'wait', ms: pauseMs }];
  return { cycle: { ...cycle, crashedAt, state }, acts };
}

function whyHopeless({ code, lastLines }: CoreEnd): Stuck | null {
  if (code === null || !hopelessCodes.has(code)) return null;
  const message = lastLines.join('\n') || `svc ended with the code ${code} and said nothing.`;
  return { of: 'other', code: `ended_${code}`, message };
}

function describeEnd({ code, signal }: CoreEnd): string {
  if (signal !== null) return `The service was ended by the signal ${signal}.`;
  if (code === 0) return 'The service ended, and nobody here asked it to.';
  if (code === null) return 'The service has gone, and nobody saw how.';
  return `The service ended with the code ${code}.`;
}
