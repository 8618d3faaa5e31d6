/** Attachments on the whole program: which models see them, and the notes about the rest. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import jpeg from 'jpeg-js';
import { startFakeDiscord } from '../fake/discord.ts';
import type { FakeModel, Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { jpegOf, pngOf, withExif } from '../fake/pictures.ts';
import { startFakeSpeech } from '../fake/speech.ts';
import { startServe } from '../support/in-process.ts';
import { scratch, writeConfig } from '../support/program.ts';
import { openTelegram } from '../telegram/program.ts';

type Asked = { messages: { role: string; content: string; images?: string[] }[] };

const saysWhatItSees: Script = ({ body }) => {
  const { content, images = [] } = (body as Asked).messages.at(-1)!;
  return { answer: `${images.length} pictures, and: ${content}` };
};
const lastOf = (model: FakeModel) => (model.calls.at(-1)!.body as Asked).messages.at(-1)!;

type Stage = Awaited<ReturnType<typeof stage>>;

/** One program for the tests that need no other, each with a person and a chat of its own. */
let shared: Promise<Stage>;
before(() => void (shared = stage()));
after(async () => (await shared)[Symbol.asyncDispose]());

async function visit() {
  const it = await shared;
  const chat = it.telegram.privateChat(it.telegram.person('Bo'));
  const asked = it.model.calls.length;
  return {
    ...it,
    replyTo: (content: Readonly<Record<string, unknown>>) => it.replyTo(content, chat),
    /** The number of calls to the model since. */
    asked: () => it.model.calls.length - asked,
  };
}

async function stage(setup: { channel?: object; sees?: boolean } = {}) {
  const own = new AsyncDisposableStack();
  const capabilities = setup.sees === false ? ['completion'] : ['completion', 'vision'];
  const { channel = {} } = setup;
  const more = { storage: { path: 'svc.db' } };
  const it = own.use(await openTelegram(saysWhatItSees, { channel, more, capabilities }));
  const { telegram } = it;
  return {
    ...it,
    program: own.use(it.start()),
    async replyTo(content: Readonly<Record<string, unknown>>, chat = it.ann): Promise<string> {
      const known = telegram.sent.length;
      telegram.post(chat, content);
      return (await telegram.waitForSent(known + 1))[known]!.text;
    },
    photo(bytes: Uint8Array, path = 'photos/file_1.jpg') {
      const id = telegram.storeFile(path, Buffer.from(bytes));
      const small = { file_id: 'small', file_unique_id: 's', width: 9, height: 9, file_size: 99 };
      const size = { width: 64, height: 32, file_size: bytes.length };
      return [small, { file_id: id, file_unique_id: 'l', ...size }];
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a photo is shown to a model that sees, without what was hidden in it', async () => {
  const it = await visit();
  const photo = it.photo(withExif(jpegOf(64, 32), 1, 'Berlin 52.52 N'));
  const said = await it.replyTo({ photo, caption: 'what is it?' });
  assert.equal(said, '1 pictures, and: what is it?\n[picture: photo]');
  const shown = Buffer.from(lastOf(it.model).images![0]!, 'base64');
  assert.ok(!shown.includes('Berlin'));
  const { width, height } = jpeg.decode(shown);
  assert.deepEqual([width, height], [64, 32]);
  assert.ok(!it.program.log().includes(it.telegram.token.split(':')[1]!), 'no address in the log');
});

test('a photo and nobody sees: svc says so, and asks nobody to guess', async () => {
  await using it = await stage({ sees: false });
  const said = await it.replyTo({ photo: it.photo(jpegOf(8, 8)) });
  assert.equal(said, 'I cannot see pictures here. Please write what it is about.');
  assert.equal(it.model.calls.length, 0);
});

test('a picture that the provider refuses is left out, and not tried again', async () => {
  await using it = await stage();
  const refusal = '{"error":"this model is missing data required for image input"}';
  await it.model.script((call, asked) => {
    const { images = [] } = (call.body as Asked).messages.at(-1)!;
    if (images.length > 0) return { status: 500, body: refusal };
    return { answer: `question ${asked + 1}` };
  });
  const photo = it.photo(jpegOf(8, 8));
  assert.equal(await it.replyTo({ photo, caption: 'what is it?' }), 'question 2');
  assert.match(
    lastOf(it.model).content,
    /what is it\?\n\[picture: photo: it is not shown to this model\]/,
  );
  assert.match(await it.replyTo({ photo: it.photo(jpegOf(8, 8)) }), /^I cannot see pictures here/);
  assert.equal(it.model.calls.length, 2);
});

test('a text file is read, and later turns remember it', async () => {
  const it = await visit();
  const file_id = it.telegram.storeFile('documents/a.md', Buffer.from('buy milk'));
  const document = { file_id, file_unique_id: 'x', file_name: 'list.md', file_size: 8 };
  const said = await it.replyTo({ document, caption: 'what is to do?' });
  assert.match(said, /what is to do\?\n\[file: list\.md\]\n/);
  assert.match(lastOf(it.model).content, /```\nbuy milk\n```/);
  await it.replyTo({ text: 'and now?' });
  const { messages } = it.model.calls.at(-1)!.body as Asked;
  assert.match(
    messages.map(({ content }) => content).join('\n'),
    /\[file: list\.md\]\n```\nbuy milk\n```/,
  );
});

for (const [name, bytes, expected] of [
  ['notepad.txt', Buffer.from('\ufeffbuy milk', 'utf16le'), /^0 pict.+\nbuy milk$/],
  ['excel.csv', Buffer.from('Stra\xdfe', 'latin1'), /^0 pict.+\nStraße$/],
  ['Makefile', Buffer.from('all:\n\ttrue'), /^0 pict.+\nall:\n\ttrue$/],
  ['other.txt', Buffer.from('\xcf\xf0\xe8\xe2', 'latin1'), /save it as UTF-8 and send it again\.$/],
  ['data', Buffer.from('PK\x03\x04'), /^I cannot read this \(document\)/],
  ['large data', Buffer.alloc(300_000, 'x'), /^I cannot read this \(document\)/],
  ['photo.PNG', pngOf(4, 4, [1, 2, 3]), /^1 pictures/],
  ['screenshot', pngOf(4, 4, [1, 2, 3]), /^1 pictures/],
  ['photo.png', Buffer.from('none'), /^I cannot read this \(document\)/],
] as const) {
  test(`what is said of the file ${name} is true`, async () => {
    const it = await visit();
    const file_id = it.telegram.storeFile('documents/file_1', Buffer.from(bytes));
    const document = { file_id, file_unique_id: 'x', file_name: name, file_size: bytes.length };
    assert.match(await it.replyTo({ document }), expected);
  });
}

test('of what svc does not read it says so, whatever kind it is', async () => {
  const it = await visit();
  const kinds = {
    story: { chat: { id: 1, type: 'private' }, id: 3 },
    paid_media: { star_count: 1, paid_media: [] },
    checklist: { title: 'x', tasks: [{ id: 1, text: 'buy milk' }] },
    game: { title: 'x', description: 'y', photo: [] },
  };
  for (const [kind, content] of Object.entries(kinds)) {
    assert.match(await it.replyTo({ [kind]: content }), new RegExp(`^I cannot read this .${kind}`));
  }
  assert.equal(it.asked(), 0);
});

test('a voice message is written down by the speech server', async () => {
  await using speech = await startFakeSpeech('Buy milk.');
  await using it = await stage({ channel: { speech: { base_url: speech.url, model: 'small' } } });
  const file_id = it.telegram.storeFile('voice/file_2.oga', Buffer.from('OggS'));
  const voice = { file_id, file_unique_id: 'v', duration: 1, mime_type: 'audio/ogg', file_size: 4 };
  assert.match(await it.replyTo({ voice }), /\[voice message\] Buy milk\./);
  const [heard] = speech.heard;
  assert.deepEqual([heard?.model, heard?.name], ['small', 'voice.ogg']);
});

for (const [what, answer, expected] of [
  ['holds no words', ' ', /^I could not understand the voice message/],
  ['the speech server fails on', { status: 500, body: '{}' }, /^I cannot listen .+ just now/],
] as const) {
  test(`a voice message that ${what} is told so, and no model is asked`, async () => {
    await using speech = await startFakeSpeech(answer);
    await using it = await stage({ channel: { speech: { base_url: speech.url, model: 'small' } } });
    const file_id = it.telegram.storeFile('voice/file_2.oga', Buffer.from('OggS'));
    const voice = { file_id, file_unique_id: 'v', duration: 1, mime_type: 'audio/ogg' };
    assert.match(await it.replyTo({ voice }), expected);
    assert.equal(it.model.calls.length, 0);
  });
}

const unreadable: readonly (readonly [string, object, RegExp])[] = [
  ['a voice message without a speech server', voiceOf(4), /^I do not listen to voice messages/],
  ['a video', { video: { file_id: 'v', file_unique_id: 'v' } }, /^I cannot read this \(video\)/],
  ['a document that is no text', documentOf('a.pdf', 4), /^I cannot read this/],
  [
    'a large file of no told type',
    documentOf('data', 9_000_000),
    /^I cannot read this \(document\)/,
  ],
  ['a text file that is too large', documentOf('a.txt', 300_000), /larger than the 256 KiB/],
  ['a file that is gone', documentOf('a.txt', 4), /^I could not get the file/],
];

function voiceOf(size: number): object {
  return { voice: { file_id: 'v', file_unique_id: 'v', duration: 1, file_size: size } };
}

function documentOf(file_name: string, file_size: number): object {
  const mime_type = file_name.endsWith('.pdf') ? 'application/pdf' : undefined;
  return { document: { file_id: 'gone', file_unique_id: 'd', file_name, file_size, mime_type } };
}

for (const [what, content, expected] of unreadable) {
  test(`${what} is told so, and no model is asked`, async () => {
    const it = await visit();
    assert.match(await it.replyTo({ ...content }), expected);
    assert.equal(it.asked(), 0);
  });
}

test('what nobody could read is not remembered, and is no question to ask again', async () => {
  const it = await visit();
  const video = { video: { file_id: 'v', file_unique_id: 'v' } };
  const forward_origin = { type: 'hidden_user', sender_user_name: 'Bob', date: 1 };
  assert.match(await it.replyTo({ ...video, forward_origin }), /^I cannot read this/);
  await it.replyTo({ text: '/retry' });
  assert.equal(it.asked(), 0, 'nothing is asked again');
  await it.replyTo({ text: 'hello' });
  const { messages } = it.model.calls.at(-1)!.body as Asked;
  assert.deepEqual(
    messages.filter(({ role }) => role === 'user').map(({ content }) => content),
    ['hello'],
  );
});

test('what is said to others and cannot be read has no answer', async () => {
  await using it = await stage({ channel: { access: { groups: 'all' } } });
  const { telegram, model } = it;
  const [team, from] = [telegram.supergroup('Team'), telegram.person('Ann')];
  const video = { video: { file_id: 'v', file_unique_id: 'v' } };
  telegram.post(team, video, { from });
  telegram.say(team, 'hello all', { from });
  const [first] = await telegram.waitForSent(1);
  assert.match(first!.text, /hello all/);
  const asked = (model.calls[0]!.body as Asked).messages.filter(({ role }) => role === 'user');
  assert.equal(asked.length, 1, 'nothing of it is remembered');
  telegram.post(team, { ...video, reply_to_message: first!.message }, { from });
  const [, second] = await telegram.waitForSent(2);
  assert.match(second!.text, /^I cannot read this/, 'to us');
});

test('with a text beside it the model is told what could not be read', async () => {
  const it = await visit();
  const said = await it.replyTo({ ...documentOf('a.pdf', 4), caption: 'sum it up' });
  assert.match(said, /sum it up\n\[attachment: a\.pdf: I cannot read this/);
});

const attacks: readonly (readonly [string, Uint8Array])[] = [
  ['a page in the place of a picture', Buffer.from('<html>no</html>')],
  ['a picture that is cut', jpegOf(64, 64).subarray(0, 90)],
  ['nothing', new Uint8Array(0)],
];

for (const [what, bytes] of attacks) {
  test(`${what} is not shown to anybody`, async () => {
    const it = await visit();
    assert.match(await it.replyTo({ photo: it.photo(bytes) }), /^I cannot read this/);
    assert.equal(it.asked(), 0);
  });
}

test('a larger file than it said is read no further', async () => {
  const it = await visit();
  const photo = it.photo(new Uint8Array(9 * 1024 * 1024));
  photo[1]!.file_size = 100;
  assert.match(await it.replyTo({ photo }), /larger than the 8 MiB/);
});

for (const path of ['../../secret.jpg', '/var/lib/telegram-bot-api/1/photos/file_1.jpg']) {
  test(`the path ${path} is not followed`, async () => {
    const it = await visit();
    const photo = it.photo(jpegOf(8, 8), path);
    assert.match(await it.replyTo({ photo }), /^I cannot get files here/);
  });
}

test('on Discord attachments are read from its own place, and all of them', async () => {
  await using scene = await scratch();
  const capabilities = ['completion', 'vision'];
  await using model = await startFakeOllama(saysWhatItSees, { capabilities });
  await using discord = await startFakeDiscord();
  const local = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  const config = {
    channels: [
      { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN', base_url: discord.url },
    ],
    brains: [
      {
        name: 'eyes',
        sensitivity: 'public',
        policy: { kind: 'priority' },
        models: [{ ...local, base_url: model.url }],
      },
    ],
    routes: [{ channel: 'discord', brain: 'eyes' }],
    observability: { enabled: false },
  };
  const file = await writeConfig(scene.path, config);
  await using program = startServe(file, { DISCORD_TOKEN: discord.token });
  await program.saw('messenger_b is up');
  const [cat, dog] = [pngOf(8, 8, [1, 2, 3]), jpegOf(16, 8)];
  const attachments = [
    discord.storeFile('cat.png', 'image/png', cat),
    discord.storeFile('dog.jpg', 'image/jpeg', dog),
    discord.storeFile('notes.txt', 'text/plain', Buffer.from('buy milk')),
  ];
  const channel = discord.direct(discord.user('Ada'));
  discord.say(channel, 'who is who?', { fields: { attachments } });
  const [reply] = await discord.waitForSent(1);
  const files = String.raw`\[picture: cat\.png\]\n\[picture: dog\.jpg\]\n\[file: notes\.txt\]`;
  assert.match(reply!.content, new RegExp(String.raw`^2 pictures, and: who is who\?\n${files}`));
  const elsewhere = { ...attachments[0], id: '1', url: 'http://127.0.0.1:9/a.png?hm=1' };
  discord.say(channel, '', { fields: { attachments: [elsewhere] } });
  const [, told] = await discord.waitForSent(2);
  assert.match(told!.content, /^I could not get the file/);
  assert.ok(!program.log().includes(discord.token));
});
