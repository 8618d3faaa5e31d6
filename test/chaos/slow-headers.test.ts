import { test } from 'node:test';
import { slowHeaders } from './slow-headers.ts';

test(slowHeaders.title, async (t) => {
  const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SVC_SEED=${seed}`);
  await slowHeaders.run(slowHeaders.sizes.test, seed, (line) => t.diagnostic(line));
});
