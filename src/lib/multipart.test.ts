import assert from 'node:assert/strict';
import { test } from 'node:test';
import { multipart, type FormPart } from './pinned-client.ts';

/** The form as the runtime's own parser reads it. */
async function readBack(parts: readonly FormPart[]): Promise<FormData> {
  const { contentType, body } = multipart(parts);
  const headers = { 'content-type': contentType };
  return new Response(new Uint8Array(body), { headers }).formData();
}

test('fields and files are read as they were written', async () => {
  const bytes = Uint8Array.from([0, 255, 13, 10, 45, 45, 128]);
  const form = await readBack([
    { name: 'model', value: 'größe-ß' },
    { name: 'file', value: bytes, file: { name: 'a "b".ogg', type: 'audio/ogg; codecs=opus' } },
  ]);
  assert.equal(form.get('model'), 'größe-ß');
  const file = form.get('file') as File;
  assert.match(file.name, /^a .*b.*\.ogg$/);
  assert.equal(file.type.startsWith('audio/ogg'), true);
  assert.deepEqual(new Uint8Array(await file.arrayBuffer()), bytes);
});

test('a name or a type makes no head of its own', async () => {
  const form = await readBack([
    {
      name: 'file',
      value: 'x',
      file: { name: 'a\r\nx-evil: 1\r\n\r\n', type: 'text/plain\r\nx-evil: 1' },
    },
  ]);
  assert.deepEqual([...form.keys()], ['file']);
  assert.equal((form.get('file') as File).type, 'application/octet-stream');
});
