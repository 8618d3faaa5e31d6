import { test } from 'node:test';
import { malformedProof } from './malformed.ts';

test('malformed requests crash nothing, smuggle nothing and leave nothing open', async (t) => {
  const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SVC_SEED=${seed}`);
  const { sizes } = malformedProof;
  const { figures } = (await malformedProof.run(sizes.test, seed, () => {})) as { figures: object };
  t.diagnostic(JSON.stringify(figures));
});
