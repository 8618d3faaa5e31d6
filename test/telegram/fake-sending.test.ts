/** Messages to the fake of Telegram, and the state of its chats, through grammY's client. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Api, Bot, GrammyError } from 'grammy';
import { startFakeTelegram } from '../fake/telegram.ts';

async function stage() {
  const fake = await startFakeTelegram();
  const ann = fake.person('Ann', { username: 'ann' });
  const chat = fake.privateChat(ann);
  const api = new Api(fake.token, { apiRoot: fake.url });
  const dispose = (): Promise<void> => fake[Symbol.asyncDispose]();
  return { fake, api, ann, chat, [Symbol.asyncDispose]: dispose };
}

async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => 'it was not refused',
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof GrammyError, String(error));
  return error.description;
}

suite('a text', () => {
  test('has 1 to 4,096 characters, counted after white space is trimmed', async () => {
    await using world = await stage();
    const { api, chat, fake } = world;
    const refused = async (text: string): Promise<string> =>
      refusalOf(api.sendMessage(chat.id, text));
    assert.equal(await refused(''), 'Bad Request: message text is empty');
    assert.equal(await refused(' \n '), 'Bad Request: text must be non-empty');
    assert.equal(await refused('a'.repeat(4_097)), 'Bad Request: message is too long');
    assert.equal(await refused('a'.repeat(40_000)), 'Bad Request: text is too long');
    await api.sendMessage(chat.id, ` ${'a'.repeat(4_096)} `);
    await api.sendMessage(chat.id, '🙂'.repeat(4_096));
    assert.equal(fake.sent[0]?.text.length, 4_096);
  });

  test('carries entities whose bounds are UTF-16 units within it', async () => {
    await using world = await stage();
    const { api, chat, fake } = world;
    const at = (offset: number, length: number, text = 'a🙂b') =>
      api.sendMessage(chat.id, text, { entities: [{ type: 'bold', offset, length }] });
    await at(1, 2);
    assert.deepEqual(fake.sent[0]?.message.entities, [{ type: 'bold', offset: 1, length: 2 }]);
    const words = {
      'entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol': at(0, 2),
      'entity begins in a middle of a UTF-16 symbol at byte offset 1': at(2, 1),
      'entity begins after the end of the text at UTF-16 offset 9': at(9, 1),
      'entity beginning at UTF-16 offset 3 ends after the end of the text': at(3, 5),
      'receive an entity with incorrect offset -1': at(-1, 2),
    };
    for (const [expected, call] of Object.entries(words)) {
      assert.ok((await refusalOf(call)).startsWith(`Bad Request: ${expected}`), expected);
    }
    const odd = [{ type: 'shiny', offset: 0, length: 1 }] as never;
    assert.equal(
      await refusalOf(api.sendMessage(chat.id, 'abc', { entities: odd })),
      "Bad Request: can't parse MessageEntity: Unsupported type specified",
    );
    const to = (url: string) =>
      api.sendMessage(chat.id, 'abc', {
        entities: [{ type: 'text_link', offset: 0, length: 1, url }],
      });
    const invalid = { 'http://localhost:3000/': 'Wrong HTTP URL', '/etc': 'URL host is empty' };
    for (const [url, why] of Object.entries(invalid)) {
      const expected = `Bad Request: entity URL '${url}' is invalid: ${why}`;
      assert.equal(await refusalOf(to(url)), expected);
    }
    await at(2, 4, '  bold  ');
    assert.deepEqual(fake.sent[1]?.message.entities, [{ type: 'bold', offset: 0, length: 4 }]);
  });

  test('with a parse mode is parsed, or refused for what is wrong with it', async () => {
    await using world = await stage();
    const { api, chat, fake } = world;
    const html = (text: string) => api.sendMessage(chat.id, text, { parse_mode: 'HTML' });
    await html('a &lt; <b>bold</b> <a href="https://example.org/">link</a>');
    assert.equal(fake.sent[0]?.text, 'a < bold link');
    assert.deepEqual(fake.sent[0]?.message.entities, [
      { type: 'bold', offset: 4, length: 4 },
      { type: 'text_link', offset: 9, length: 4, url: 'https://example.org/' },
    ]);
    await html('to <a href="http://localhost/">nowhere</a>');
    assert.equal(fake.sent[1]?.message.entities, undefined, 'such a link is left out');
    const prefix = "Bad Request: can't parse entities: ";
    assert.equal(
      await refusalOf(html('an <h1>')),
      `${prefix}Unsupported start tag "h1" at byte offset 3`,
    );
    assert.equal(
      await refusalOf(html('<b>open')),
      `${prefix}Can't find end tag corresponding to start tag "b"`,
    );
    assert.equal(
      await refusalOf(api.sendMessage(chat.id, 'so.', { parse_mode: 'MarkdownV2' })),
      `${prefix}Character '.' is reserved and must be escaped with the preceding '\\'`,
    );
  });
});

suite('a chat', () => {
  test('that is unknown, has blocked the bot, or threw it out refuses', async () => {
    await using world = await stage();
    const { api, chat, fake } = world;
    assert.equal(await refusalOf(api.sendMessage(12, 'x')), 'Bad Request: chat not found');
    fake.block(chat);
    const blocked = 'Forbidden: bot was blocked by the user';
    assert.equal(await refusalOf(api.sendMessage(chat.id, 'x')), blocked);
    assert.equal(await refusalOf(api.sendChatAction(chat.id, 'typing')), blocked);
    const group = fake.supergroup('Team');
    fake.kick(group);
    assert.equal(
      await refusalOf(api.sendMessage(group.id, 'x')),
      'Forbidden: bot was kicked from the supergroup chat',
    );
  });

  test('that became a supergroup names it', async () => {
    await using world = await stage();
    const { api, fake } = world;
    const group = fake.group('Team');
    const next = fake.migrate(group);
    const error: unknown = await api.sendMessage(group.id, 'x').catch((reason: unknown) => reason);
    assert.ok(error instanceof GrammyError);
    assert.equal(error.parameters.migrate_to_chat_id, next.id);
    await api.sendMessage(next.id, 'x');
    const updates = await api.getUpdates();
    assert.equal(updates[0]?.message?.migrate_to_chat_id, next.id);
    assert.equal(updates[1]?.message?.migrate_from_chat_id, group.id);
  });

  test('is answered in, or the answered message is not found', async () => {
    await using world = await stage();
    const { api, chat, fake } = world;
    const asked = fake.say(chat, 'a question');
    const reply_parameters = { message_id: asked.message_id };
    const answer = await api.sendMessage(chat.id, 'an answer', {
      reply_parameters,
      link_preview_options: { is_disabled: true },
    });
    assert.equal(answer.reply_to_message?.text, 'a question');
    assert.deepEqual(answer.link_preview_options, { is_disabled: true });
    const gone = { message_id: 9_999 };
    assert.equal(
      await refusalOf(api.sendMessage(chat.id, 'x', { reply_parameters: gone })),
      'Bad Request: message to be replied not found',
    );
    const alone = await api.sendMessage(chat.id, 'x', {
      reply_parameters: { ...gone, allow_sending_without_reply: true },
    });
    assert.equal(alone.reply_to_message, undefined);
  });

  test('shows typing, in its topic, and knows the kinds of it', async () => {
    await using world = await stage();
    const { api, chat, fake } = world;
    const forum = fake.forum('Team');
    const topic = fake.openTopic(forum, 'Orders');
    await api.sendChatAction(chat.id, 'typing');
    await api.sendChatAction(forum.id, 'typing', { message_thread_id: topic });
    assert.deepEqual(
      fake.typing.map((one) => [one.chatId, one.topic, one.action]),
      [
        [chat.id, undefined, 'typing'],
        [forum.id, topic, 'typing'],
      ],
    );
    assert.equal(
      await refusalOf(api.sendChatAction(chat.id, 'dancing' as never)),
      'Bad Request: wrong parameter action in request',
    );
  });
});

suite('a group', () => {
  test('with topics says which one, and a deleted one is not found', async () => {
    await using world = await stage();
    const { api, fake } = world;
    const forum = fake.forum('Team');
    const topic = fake.openTopic(forum, 'Orders', fake.bot);
    fake.say(forum, 'in a topic', { topic });
    fake.say(forum, 'in General');
    const [inTopic, inGeneral] = (await api.getUpdates()).map(({ message }) => message);
    assert.equal(inTopic?.message_thread_id, topic);
    assert.equal(inTopic?.is_topic_message, true);
    // It replies to nothing, yet it seems to reply to the bot that made the topic.
    assert.equal(inTopic?.reply_to_message?.forum_topic_created?.name, 'Orders');
    assert.equal(inTopic?.reply_to_message?.from?.id, fake.bot.id);
    assert.equal(inGeneral?.message_thread_id, undefined);
    const sent = await api.sendMessage(forum.id, 'x', { message_thread_id: topic });
    assert.equal(sent.message_thread_id, topic);
    fake.deleteTopic(forum, topic);
    assert.equal(
      await refusalOf(api.sendMessage(forum.id, 'x', { message_thread_id: topic })),
      'Bad Request: message thread not found',
    );
    const stale = fake.openTopic(forum, 'Plans');
    fake.deleteTopic(forum, stale, true);
    const late = api.sendMessage(forum.id, 'x', { message_thread_id: stale });
    assert.equal(await refusalOf(late), 'Bad Request: TOPIC_DELETED');
  });

  test('of direct messages to a channel wants the topic of the person', async () => {
    await using world = await stage();
    const { api, fake } = world;
    const news = fake.directMessages('News');
    assert.equal(
      await refusalOf(api.sendMessage(news.id, 'x')),
      'Bad Request: channel direct messages topic must be specified',
    );
    await api.sendMessage(news.id, 'x', { direct_messages_topic_id: 501 });
  });

  test('without topics numbers its chains of replies; nothing can be sent to one', async () => {
    await using world = await stage();
    const { api, fake } = world;
    const group = fake.supergroup('Team');
    const first = fake.say(group, 'first');
    const second = fake.say(group, 'second', { replyTo: first.message_id });
    const third = fake.say(group, 'third', { replyTo: second.message_id });
    assert.equal(third.message_thread_id, first.message_id);
    assert.equal(third.is_topic_message, undefined);
    const message_thread_id = first.message_id;
    assert.equal(
      await refusalOf(api.sendMessage(group.id, 'x', { message_thread_id })),
      'Bad Request: message thread not found',
    );
  });

  test('in privacy mode shows the bot what is meant for it', async () => {
    await using fake = await startFakeTelegram({ readsAllGroupMessages: false });
    const api = new Api(fake.token, { apiRoot: fake.url });
    assert.equal((await api.getMe()).can_read_all_group_messages, false);
    const group = fake.supergroup('Team');
    const { message_id } = await api.sendMessage(group.id, 'hello all');
    fake.say(group, 'among us');
    fake.say(group, '@svc_test_bot what is up?');
    fake.say(group, 'hello yourself', { replyTo: message_id });
    fake.say(group, '/new@svc_test_bot');
    fake.say(group, '/new@another_bot');
    fake.post(group, { new_chat_title: 'Crew' });
    const updates = await api.getUpdates();
    assert.deepEqual(
      updates.map(({ message }) => message?.text ?? message?.new_chat_title),
      ['@svc_test_bot what is up?', 'hello yourself', '/new@svc_test_bot', 'Crew'],
    );
    assert.deepEqual(updates[0]?.message?.entities, [{ type: 'mention', offset: 0, length: 13 }]);
  });
});

test('a file is named, found and downloaded with the token in its address', async () => {
  await using world = await stage();
  const { api, chat, fake } = world;
  const file_id = fake.storeFile('photos/file_1.jpg', Buffer.from('a picture'));
  const photo = [{ file_id, file_unique_id: 'u1', width: 90, height: 51 }];
  fake.post(chat, { photo, caption: 'look' });
  const [update] = await api.getUpdates();
  assert.equal(update?.message?.caption, 'look');
  const file = await api.getFile(update?.message?.photo?.[0]?.file_id ?? '');
  const answer = await fetch(`${fake.url}/file/bot${fake.token}/${file.file_path}`);
  assert.equal(await answer.text(), 'a picture');
  assert.equal(await refusalOf(api.getFile('no such')), 'Bad Request: invalid file_id');
});

suite('buttons', () => {
  const keyboard = { inline_keyboard: [[{ text: 'Yes', callback_data: 'y' }]] };

  test('are pressed, the press is answered once, and they are taken away', async () => {
    await using fake = await startFakeTelegram({ secondMs: 20 });
    const ann = fake.person('Ann');
    const chat = fake.privateChat(ann);
    const bot = new Bot(fake.token, { client: { apiRoot: fake.url } });
    const heard: string[] = [];
    bot.command('start', (context) => context.reply('May I?', { reply_markup: keyboard }));
    bot.callbackQuery('y', async (context) => {
      heard.push(`${context.from.first_name} ${context.chat?.id} ${context.msg?.text}`);
      await context.answerCallbackQuery({ text: 'thanks' });
      await context.editMessageReplyMarkup();
    });
    fake.say(chat, '/start');
    const running = bot.start();
    const [asked] = await fake.waitForSent(1);
    const press = fake.press(ann, asked!.message, 'Yes');
    await fake.until(
      () => fake.shown(asked!.message)?.['reply_markup'] === undefined || undefined,
      'no button',
    );
    await bot.stop();
    await running;
    assert.deepEqual(heard, [`Ann ${chat.id} May I?`]);
    assert.equal(press.answer?.['text'], 'thanks');
    assert.throws(() => fake.press(ann, fake.shown(asked!.message)!, 'Yes'), /no button/);
  });

  test('are refused where the platform would refuse them, and so are late answers', async () => {
    const clock = { at: 1_700_000_000_000 };
    await using fake = await startFakeTelegram({ now: () => clock.at });
    const api = new Api(fake.token, { apiRoot: fake.url });
    const ann = fake.person('Ann');
    const chat = fake.privateChat(ann);
    const withData = (callback_data: string) =>
      api.sendMessage(chat.id, 'May I?', {
        reply_markup: { inline_keyboard: [[{ text: 'Yes', callback_data }]] },
      });
    assert.equal(await refusalOf(withData('y'.repeat(65))), 'Bad Request: BUTTON_DATA_INVALID');
    assert.match(await refusalOf(withData('')), /text buttons are unallowed/);
    await withData('y'.repeat(64));
    const { message } = fake.sent[0]!;
    const { id } = fake.press(ann, message, 'Yes');
    await api.answerCallbackQuery(id);
    assert.match(await refusalOf(api.answerCallbackQuery(id)), /query is too old/);
    const late = fake.press(ann, message, 'Yes');
    clock.at += 60_000;
    assert.match(await refusalOf(api.answerCallbackQuery(late.id)), /query is too old/);
    await api.editMessageReplyMarkup(chat.id, message.message_id);
    const again = api.editMessageReplyMarkup(chat.id, message.message_id);
    assert.match(await refusalOf(again), /message is not modified/);
    const own = fake.say(chat, 'mine');
    const others = api.editMessageReplyMarkup(chat.id, own.message_id);
    assert.match(await refusalOf(others), /can't be edited/);
    assert.match(await refusalOf(api.editMessageReplyMarkup(chat.id, 9_999)), /not found/);
  });
});

suite('a draft', () => {
  test('shows for 30 s, or until the next message, and is none itself', async () => {
    const clock = { at: 1_700_000_000_000 };
    await using fake = await startFakeTelegram({ now: () => clock.at });
    const api = new Api(fake.token, { apiRoot: fake.url });
    const chat = fake.privateChat(fake.person('Ann'));
    const shown = () => fake.draftIn(chat)?.text;
    await api.sendMessageDraft(chat.id, 7, ' one ');
    clock.at += 29_999;
    assert.equal(shown(), 'one');
    clock.at += 1;
    assert.equal(shown(), undefined);
    await api.sendMessageDraft(chat.id, 7, '');
    assert.equal(shown(), '', 'it says that the bot thinks');
    await api.sendChatAction(chat.id, 'typing');
    assert.equal(shown(), '');
    await api.sendMessage(chat.id, 'one two');
    assert.equal(shown(), undefined);
    assert.deepEqual([fake.sent.length, fake.drafts.length], [1, 2]);
  });

  test('is refused elsewhere, without an id, too long, or by who blocked the bot', async () => {
    await using world = await stage();
    const { api, chat, fake } = world;
    const group = fake.supergroup('Team');
    const refused = (to: number, id: number, text: string): Promise<string> =>
      refusalOf(api.sendMessageDraft(to, id, text));
    assert.equal(await refused(group.id, 7, 'one'), 'Bad Request: TEXTDRAFT_PEER_INVALID');
    assert.equal(await refused(chat.id, 0, 'one'), 'Bad Request: RANDOM_ID_INVALID');
    assert.equal(await refused(chat.id, 7, 'a'.repeat(4_097)), 'Bad Request: message is too long');
    fake.block(chat);
    assert.equal(await refused(chat.id, 7, 'one'), 'Forbidden: bot was blocked by the user');
  });

  test('is had in topics alone by Bot API 9.3, and by no server before', async () => {
    for (const [draftsFor, description] of [
      ['topics', 'Bad Request: TEXTDRAFT_PEER_INVALID'],
      ['nobody', 'Not Found: method not found'],
    ] as const) {
      await using fake = await startFakeTelegram({ draftsFor });
      const api = new Api(fake.token, { apiRoot: fake.url });
      const chat = fake.privateChat(fake.person('Ann'));
      assert.equal(await refusalOf(api.sendMessageDraft(chat.id, 7, 'one')), description);
      const message_thread_id = fake.openTopic(chat, 'Plans');
      const inTopic = api.sendMessageDraft(chat.id, 7, 'one', { message_thread_id });
      if (draftsFor === 'topics') assert.equal(await inTopic, true);
      else assert.equal(await refusalOf(inTopic), description);
    }
  });

  test('counts as no message, and too many in a chat have to wait', async () => {
    const clock = { at: 1_700_000_000_000 };
    await using fake = await startFakeTelegram({ now: () => clock.at, limited: true });
    const api = new Api(fake.token, { apiRoot: fake.url });
    const chat = fake.privateChat(fake.person('Ann'));
    for (let at = 0; at < 25; at++) await api.sendMessageDraft(chat.id, 7, `one ${at}`);
    const refused = await refusalOf(api.sendMessageDraft(chat.id, 7, 'one'));
    assert.equal(refused, 'Too Many Requests: retry after 3');
    await api.sendMessage(chat.id, 'one');
  });
});
