/** Runs a proof in a process of its own: some stop the clock, or use the processor for long. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findingOf, type Finding, type RunProof } from './runner.ts';

export const runApart: RunProof = async (proof, order) => {
  const startedAt = performance.now();
  const args = [proof.name, order.size, String(order.seed)];
  const child = fork(join(import.meta.dirname, 'run-one.ts'), args);
  let finding: Finding | null = null;
  child.on('message', (message) => (finding = message as Finding));
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  const seconds = (performance.now() - startedAt) / 1_000;
  const why = `its process ended with ${code ?? signal}`;
  return finding ?? findingOf(proof, order, seconds, { kind: 'failed', why });
};
