/** Every proof, in the order in which they run. A new one is one line here. */
import { conversations } from './conversations.ts';
import { failingDisk } from './failing-disk.ts';
import { hungBrain } from './hung-brain.ts';
import { kill } from './kill.ts';
import { ledgerModel } from './ledger-model.ts';
import { networkFaultsProof } from './network-faults.ts';
import { powerCut } from './power-cut.ts';
import type { Proof } from './proof.ts';

export const proofs: readonly Proof[] = [
  kill,
  powerCut,
  failingDisk,
  ledgerModel,
  networkFaultsProof,
  conversations,
  hungBrain,
];
