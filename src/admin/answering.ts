/** Whether messages to the brains are answered: what headline and concerns go by. */
import type { Config } from '../config/config.ts';
import { emptyWindow, type Standing } from '../domain/health.ts';
import type { BrainMeters, Meters, ModelMeters, Shown } from '../telemetry/meters.ts';
import type { AnsweringStatus } from './probe-status.ts';
import { askedOf, shownOf, windowOf } from './call-status.ts';

type Asked = Pick<Meters, 'models' | 'brains'>;

/** Of each brain that a route leads to. */
export function answeringOf(
  asked: Asked,
  { brains, routes }: Pick<Config, 'brains' | 'routes'>,
): AnsweringStatus[] {
  const routed = new Set(routes.map(({ brain }) => brain));
  return brains.filter(({ name }) => routed.has(name)).map((brain) => answersOf(asked, brain));
}

/**
 * A brain of which every model fails answers nothing, unless its turns show that it does; so does
 * one that needs consensus, once fewer than two are left that could agree.
 */
function answersOf({ models, brains }: Asked, brain: Config['brains'][number]): AnsweringStatus {
  const met = askedOf(brain).map((name): readonly [string, ModelMeters | undefined] => [
    name,
    models.get(name),
  ]);
  const turns = brains.get(brain.name);
  const silent = silentSince(met, brain.policy.kind === 'consensus' ? 2 : 1);
  const isSilent = silent !== null && !isAnswered(turns, silent.since);
  const shown = isSilent ? silent : turnsShown(turns?.shown, met);
  const cause = shown?.standing === 'up' ? undefined : causeOf(met);
  return {
    brain: brain.name,
    ...shownOf(shown),
    model: cause?.[0] ?? null,
    reason: cause?.[1]?.last ?? null,
    window: windowOf(turns?.window ?? emptyWindow),
  };
}

type Met = readonly (readonly [string, ModelMeters | undefined])[];

const known = (met: Met): readonly Shown[] =>
  met.flatMap(([, one]) => (one === undefined ? [] : [one.shown]));

/** @returns null: so many as are needed may answer */
function silentSince(met: Met, needed: number): Shown | null {
  const failing = known(met).filter(({ standing }) => standing === 'failing');
  const mayFail = Math.max(0, met.length - needed);
  if (failing.length <= mayFail) return null;
  const sinces = failing.map(({ since }) => since).sort((a, b) => a - b);
  return {
    standing: 'failing',
    since: sinces[mayFail]!,
    shownAt: Math.max(...failing.map(({ shownAt }) => shownAt)),
  };
}

/** Turns from before its models failed tell nothing of now, and those that were at work then. */
const settlingMs = 15_000;
/** Of the turns of a minute; of an outage more fail by the time that these are looked at. */
const fewFail = 0.2;

/** Models of which most calls fail can answer each message all the same: calls are tried again. */
function isAnswered(turns: BrainMeters | undefined, since: number): boolean {
  if (turns === undefined || turns.shown.shownAt < since + settlingMs) return false;
  const { good, bad } = turns.window.minute;
  return good > 0 && bad <= fewFail * (good + bad);
}

/** What turns showed is over once a model answers again, or is found again, after the last one. */
function turnsShown(turns: Shown | undefined, met: Met): Shown | undefined {
  if (turns === undefined || turns.standing === 'up') return turns;
  const isOver = known(met).some(
    ({ standing, since }) => (standing === 'up' || standing === 'unknown') && since > turns.shownAt,
  );
  return isOver ? undefined : turns;
}

/** The model that stands worst; of several the first that the configuration has. */
function causeOf(met: Met): Met[number] | undefined {
  const of = (standing: Standing) => met.find(([, one]) => one?.shown.standing === standing);
  return of('failing') ?? of('degraded');
}
