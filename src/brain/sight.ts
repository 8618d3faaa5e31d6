/** Which models a turn with pictures is for: those that see, where there are any. */
import type { Decision } from '../domain/decision.ts';
import type { ModelName } from '../domain/ids.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import { earlier, later, type SteadyTime } from '../lib/clock.ts';
import { unlessStopped } from '../lib/stop.ts';
import type { Desk, EarlierPictures, Turn } from './brain.ts';
import type { Candidate } from './model-call.ts';

/** How long providers may take to say whether their models see. */
const askedMs = 5_000;

/** Who is shown pictures, and which of those of the history. */
export type Seers = ReadonlyMap<ModelName, EarlierPictures>;

export type Sighted = {
  /** Who may be asked. */
  readonly members: readonly Candidate[];
  readonly seers: Seers;
};

const nobody: Seers = new Map();
const noPictures: EarlierPictures = new Map();

/**
 * At once where there is no picture.
 * @param members whom the shield lets be asked
 * @param sensitivity of the turn: a private one is told to near providers alone
 * @returns a decision where there is nothing but pictures, and nobody sees them
 */
export function sighted(
  turn: Turn,
  members: readonly Candidate[],
  sensitivity: Sensitivity,
  desk: Desk,
  steady: () => SteadyTime,
): Sighted | Promise<Sighted | Decision> {
  const hasPictures = turn.attachments?.some(({ kind }) => kind === 'picture') === true;
  if (!hasPictures && turn.pictured === undefined) return { members, seers: nobody };
  return whoSees(turn, members, sensitivity, desk, steady);
}

async function whoSees(
  turn: Turn,
  members: readonly Candidate[],
  sensitivity: Sensitivity,
  desk: Desk,
  steady: () => SteadyTime,
): Promise<Sighted | Decision> {
  const deadlineAt = earlier(desk.deadlineAt, later(steady(), askedMs));
  const asking = members.map(({ model }) => model.sees(sensitivity, deadlineAt));
  const sees = await unlessStopped(Promise.all(asking), desk.stop);
  // Of a turn that is given up nobody is asked anything.
  if (sees === null) return { members, seers: nobody };
  const seeing = members.filter((_, index) => sees[index] === true);
  const blind = members.filter((_, index) => sees[index] !== true);
  const pictured = seeing.length === 0 ? undefined : await turn.pictured?.();
  const seers = new Map(seeing.map(({ model }) => [model.name, pictured ?? noPictures]));
  // Those who do not see are told that there was a picture, and answer as before.
  if (turn.attachments?.some(({ kind }) => kind === 'picture') !== true) return { members, seers };
  if (blind.length > 0) {
    const names = blind.map(({ model }) => model.name);
    desk.addStep({ kind: 'sight', blind: names, seeing: seeing.length });
  }
  if (seeing.length > 0) return { members: seeing, seers };
  // Where nobody knows, the failure of the model itself says what is wrong.
  if (sees.includes('unreached')) return { members, seers };
  if (turn.text.trim() === '' && turn.attachments?.every(({ kind }) => kind === 'picture')) {
    return { kind: 'apology', apology: 'unseen', why: 'none of its models sees pictures' };
  }
  return { members, seers };
}
