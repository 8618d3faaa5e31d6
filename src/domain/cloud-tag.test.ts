import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCloudTag } from './model-words.ts';

test('a tag of the cloud is known in every spelling', () => {
  const digest = `@sha256:${'a'.repeat(64)}`;
  const names =
    'gpt-oss:120b-cloud|kimi:cloud|team/glm:4.6-Cloud|x:Cloud|x:cloud |x:Cloud\t|x:cloud\n|' +
    `x:cloud${digest}|x:cloud @sha256:aa| x:cloud ${digest}|localhost:5000/x:cloud`;
  assert.deepEqual(
    names.split('|').filter((name) => !isCloudTag(name)),
    [],
  );
});

test('another tag is none of the cloud', () => {
  const names = 'llama3 cloud my-cloud cloud:8b a:cloudy my-cloud/llama3:8b x:8b@sha256:cloud';
  assert.deepEqual(names.split(' ').filter(isCloudTag), []);
});
