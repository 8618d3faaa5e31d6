import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silence } from './openai-speech.ts';

test('silence is a recording as long as it says, and nothing is heard in it', () => {
  const wav = Buffer.from(silence(250));
  const text = (from: number, to: number): string => wav.toString('latin1', from, to);
  assert.deepEqual([text(0, 4), text(8, 16), text(36, 40)], ['RIFF', 'WAVEfmt ', 'data']);
  assert.equal(wav.readUInt32LE(4), wav.length - 8);
  const [bytesPerSecond, dataBytes] = [wav.readUInt32LE(28), wav.readUInt32LE(40)];
  assert.equal(dataBytes / bytesPerSecond, 0.25);
  assert.deepEqual([...new Set(wav.subarray(44))], [0]);
  assert.equal(wav.length, 44 + dataBytes);
});
