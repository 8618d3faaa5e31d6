/** Every proof, in the order in which they run. A new one is one line here. */
import { failingDisk } from './failing-disk.ts';
import { kill } from './kill.ts';
import { powerCut } from './power-cut.ts';
import type { Proof } from './proof.ts';

export const proofs: readonly Proof[] = [kill, powerCut, failingDisk];
