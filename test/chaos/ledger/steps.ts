/** Steps on a ledger as data: any part of a list can run again by itself. */
export type Kind = keyof typeof weights;
/** The dice select the rows of a step, and its details; without a row it does nothing. */
export type Step = { readonly kind: Kind; readonly dice: readonly number[] };

const weights = {
  accept: 14,
  claimIn: 16,
  claimOut: 18,
  complete: 20,
  buryIn: 2,
  releaseIn: 3,
  delivered: 16,
  defer: 7,
  buryOut: 2,
  releaseOut: 3,
  stale: 5,
  together: 6,
  pass: 6,
  cursor: 1,
  tryNow: 3,
  replay: 2,
  discard: 0.7,
  forget: 0.5,
  recall: 3,
  hold: 2,
  byHand: 3,
  giveBack: 1.5,
  closeIntake: 0.03,
  reopen: 0.25,
  crash: 0.6,
};

const ofLasting: ReadonlySet<Kind> = new Set(['reopen', 'crash', 'closeIntake']);
const diceOfStep = 8;

/** @param lasting whether the backend outlives its process */
export function stepsOf(random: () => number, count: number, lasting: boolean): readonly Step[] {
  const kinds = (Object.keys(weights) as Kind[]).filter((kind) => lasting || !ofLasting.has(kind));
  const sum = kinds.reduce((all, kind) => all + weights[kind], 0);
  return Array.from({ length: count }, () => {
    let left = random() * sum;
    const kind = kinds.find((one) => (left -= weights[one]) < 0) ?? 'accept';
    return { kind, dice: Array.from({ length: diceOfStep }, random) };
  });
}
