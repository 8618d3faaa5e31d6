import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineWatch, type PingResult } from './view.ts';

/** An engine that gives these answers in turn; the last one repeats for ever. */
function watched(results: readonly PingResult[], { isLoaded = true, loadsAgain = true } = {}) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done: string[] = [];
  let asked = 0;
  const enough = results.length + 8;
  const watch = new EngineWatch(
    {
      ping: async () => {
        if (++asked >= enough) resolve();
        return results[asked - 1] ?? results.at(-1)!;
      },
      renew: (was) => {
        done.push(was);
        if (loadsAgain) setImmediate(() => watch.loaded());
        else resolve();
      },
      hopeless: () => {
        done.push('hopeless');
        resolve();
      },
    },
    { everyMs: 1, forgetMs: 600_000 },
  );
  if (isLoaded) watch.loaded();
  return { done, watch, over: promise.finally(() => watch[Symbol.dispose]()) };
}

test('an engine that answers is left alone, also one that is silent for a moment', async () => {
  const { done, over } = watched(['alive', 'silent', 'silent', 'alive', 'silent', 'alive']);
  await over;
  assert.deepEqual(done, []);
});

test('one that is silent three times is renewed, one that is gone at once', async () => {
  const silent = watched(['silent', 'silent', 'silent', 'alive']);
  await silent.over;
  assert.deepEqual(silent.done, ['silent']);
  const gone = watched(['gone', 'alive']);
  await gone.over;
  assert.deepEqual(gone.done, ['gone']);
});

test('one that ends again and again is hopeless', async () => {
  const { done, over } = watched(['gone']);
  await over;
  assert.deepEqual(done, ['gone', 'gone', 'gone', 'hopeless']);
});

test('one that was renewed is asked again only once it has loaded a page', async () => {
  const { done, over } = watched(['gone'], { loadsAgain: false });
  await over;
  assert.deepEqual(done, ['gone']);
});
