/**
 * The arithmetic of the gate. It computes the ratio of a message's CPU in svc to the floor's, and
 * the part that chance may have in it. Then it judges the change against the stored ratio.
 */
import { figure, median } from './stats.ts';

/** The CPU of each reply in two neighbouring rounds, one of each server. */
export type Pair = { readonly svcUs: number; readonly floorUs: number };

export type Figure = { readonly ratio: number; readonly noise: number };

export type Judged = {
  /** `too-noisy`: chance alone could explain a change of `worthSeeing`. */
  readonly kind: 'within' | 'worse' | 'better' | 'too-noisy';
  /** The share by which the ratio has grown. */
  readonly change: number;
  /** The largest share of it that chance explains. */
  readonly chance: number;
};

/**
 * Chance exceeds this many standard errors once in 160 times, and twice in a row far less often.
 */
const errorsMost = 2.5;
/** A small spread may be luck, so no figure counts as more exact than this. */
const noiseLeast = 0.01;
/** The gate must detect a change of this size. */
export const worthSeeing = 0.1;

/**
 * @param launches the pairs of each start of the two servers. One start may stay lucky while it
 * runs, so the noise is at least the difference between the starts.
 */
export function figureOf(launches: readonly (readonly Pair[])[]): Figure {
  const each = launches.map((pairs) => pairs.map((pair) => Math.log(pair.svcUs / pair.floorUs)));
  const centers = each.map((logs) => center(logs));
  const ofStarts = spread(centers) / Math.sqrt(centers.length);
  const within = Math.hypot(...each.map((logs) => errorOf(logs))) / each.length;
  return {
    ratio: Math.exp(centers.reduce((sum, one) => sum + one, 0) / centers.length),
    noise: Math.max(noiseLeast, within, ofStarts),
  };
}

export function judge(now: Figure, kept: Figure): Judged {
  const change = now.ratio / kept.ratio - 1;
  const chance = errorsMost * Math.hypot(now.noise, kept.noise);
  if (change > chance) return { kind: 'worse', change, chance };
  if (chance > worthSeeing) return { kind: 'too-noisy', change, chance };
  return { kind: change < -chance ? 'better' : 'within', change, chance };
}

/** Worse by so little that a second measurement may disagree. */
export function isInDoubt({ kind, change, chance }: Judged): boolean {
  return kind === 'worse' && change < 2 * chance;
}

/** The verdict over all figures: the worst one, and its change. */
export function verdictOf(
  judged: readonly { readonly name: string; readonly of: Judged }[],
  keptOn: string,
): string {
  const by = (kind: Judged['kind']): string =>
    judged
      .filter(({ of }) => of.kind === kind)
      .map(({ name, of }) => `${name} by ${percent(of.change)} (chance: ${percent(of.chance)})`)
      .join(', ');
  const since = `what was kept on ${keptOn}`;
  if (by('worse') !== '') return `WORSE than ${since}: ${by('worse')}.`;
  if (by('too-noisy') !== '') return `no verdict, too noisy. Off ${since}: ${by('too-noisy')}.`;
  if (by('better') === '') return `as ${since}.`;
  return `better than ${since}: ${by('better')}; \`--gate --keep\` keeps it.`;
}

export function percent(share: number): string {
  return `${figure(100 * share, 2)} %`;
}

/** The mean of the middle half. A disturbed round counts as one round, however large its value. */
function center(values: readonly number[]): number {
  const cut = Math.floor(values.length / 4);
  const middle = values.toSorted((a, b) => a - b).slice(cut, values.length - cut);
  return middle.reduce((sum, one) => sum + one, 0) / middle.length;
}

/**
 * The standard error of `center`: 1.2 times that of a mean, from a spread that ignores outliers.
 */
function errorOf(values: readonly number[]): number {
  const middle = median(values);
  const deviation = 1.4826 * median(values.map((one) => Math.abs(one - middle)));
  return (1.2 * deviation) / Math.sqrt(values.length);
}

/** The standard deviation; 0 for one value. */
function spread(values: readonly number[]): number {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const squares = values.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return Math.sqrt(squares / Math.max(1, values.length - 1));
}
