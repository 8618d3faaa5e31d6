/** Replies as files, and files that Discord refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../../domain/reply.ts';
import { create, startShowing } from '../../../test/fake/showing-discord.ts';

test('long code goes as a file, once, with its buttons', async () => {
  await using it = await startShowing();
  const text = 'let ü = "😀";\n'.repeat(300);
  const choices = [{ label: 'Again', says: '/retry' }];
  const reply = { text, file: { name: 'code.js' }, choices };
  it.fake.fail(create, { kind: 'reset', done: true });
  const lost = await it.deliver(reply);
  assert.ok(lost.kind === 'retry' && lost.mayHaveArrived);
  assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
  assert.equal(it.fake.sent.length, 1);
  const [{ files, message } = { files: [], message: null }] = it.fake.sent;
  assert.deepEqual([files[0]?.name, files[0]?.text, message?.content], ['code.js', text, '']);
  assert.deepEqual((message?.['components'] as unknown[] | undefined)?.length, 1);
});

for (const error of ['tooLarge', 'missingPermissions'] as const) {
  test(`a file that is refused (${error}) goes as text, or as its beginning`, async () => {
    await using it = await startShowing();
    const file = { name: 'code.js' };
    it.fake.fail(create, { kind: 'refuse', error });
    assert.deepEqual(await it.deliver({ text: 'let a;\n', file }), { kind: 'delivered' });
    it.fake.fail(create, { kind: 'refuse', error });
    const id = '01kz8c4h9e2q7x5t0m3vbr' as Reply['id'];
    await it.deliver({ id, text: 'let a;\n'.repeat(1_000), file });
    const [whole, begun] = it.texts();
    assert.equal(whole, '```\nlet a;\n```');
    assert.match(begun!, /could not be sent as a file; this is how it begins\.$/);
  });
}

test('a preview whose reply is a file is taken away', async () => {
  await using it = await startShowing();
  await it.deliver({ text: 'the beginning …' });
  const { message } = it.fake.sent[0]!;
  const id = '01kz8c4h9e2q7x5t0m3vbs' as Reply['id'];
  const replaces = `${it.chat.id}/${message.id}`;
  await it.deliver({ id, text: 'let a;', file: { name: 'code.js' }, replaces });
  assert.equal(it.fake.shown(message), undefined, 'before the reply counts as delivered');
});
