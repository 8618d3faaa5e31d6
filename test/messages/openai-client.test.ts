/**
 * OpenAI's own client, of the newest major version that runs on Node 20. `npm run world` has the
 * newest one, and other clients.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../support/run-svc.ts';
import { askByNpm, openApi } from '../world/completions.ts';
import { World } from '../world/world.ts';

test('the package openai gets what it asks for, knows each error, and can hang up', async () => {
  await using world = new World();
  await askByNpm(world, await openApi(world), 'openai', join(root, 'node_modules'));
  assert.deepEqual(world.differences, []);
  assert.ok(world.checks > 10);
});
