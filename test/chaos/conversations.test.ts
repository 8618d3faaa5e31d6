import { test } from 'node:test';
import { conversations } from './conversations.ts';

const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);

test(`${conversations.title} (seed ${seed})`, async () => {
  await conversations.run(conversations.sizes.test, seed, () => {});
});
