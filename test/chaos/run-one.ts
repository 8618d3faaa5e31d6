/**
 * Runs one proof in a process of its own, for run.ts: `run-one.ts <name> <size> <seed>`. It sends
 * its finding to the parent.
 */
import type { Size } from './proof.ts';
import { proofs } from './proofs.ts';
import { runProof } from './runner.ts';

const [name, size, seed] = process.argv.slice(2) as [string, Size, string];
const proof = proofs.find((one) => one.name === name);
if (proof === undefined) throw new Error(`there is no proof "${name}"`);
const finding = await runProof(proof, { size, seed: Number(seed) }, console.log);
// A proof that exceeded its time may hold the process open.
process.send!(finding, () => process.exit());
