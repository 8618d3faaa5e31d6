/** Every proof, in the order in which they run. A new one is one line here. */
import { canaries } from './canaries.ts';
import { failingDisk } from './failing-disk.ts';
import { kill } from './kill.ts';
import { ledgerModel } from './ledger-model.ts';
import { powerCut } from './power-cut.ts';
import type { Proof } from './proof.ts';
import { soak } from './soak.ts';

export const proofs: readonly Proof[] = [kill, powerCut, failingDisk, ledgerModel, soak, canaries];
