/** Faults of the channels. */
import type { Fault } from './fault.ts';

export const webhook: readonly Fault[] = [
  {
    name: 'A message without a bearer is accepted.',
    file: 'src/channels/webhook/inbound.ts',
    find: "if (token === null) return this.#turnAway(exchange, 'missing');",
    replace: "if (token === null) return this.#read(exchange, '', check);",
  },
  {
    name: 'A message that was on its way is accepted with the secret of before.',
    file: 'src/channels/webhook/inbound.ts',
    find: 'if (checkNow !== check && !checkNow(token))',
    replace: 'if (checkNow === check && !checkNow(token))',
  },
  {
    name: 'A message that waited at the gate is judged by the rules of before.',
    file: 'src/app/runtime.ts',
    find: 'return { channel, ...now, access: now.access ?? access };',
    replace: 'return { channel, ...now, access };',
    seenBy: ['test/conversations/narrowed-access.test.ts'],
  },
  {
    name: 'Messages are taken at every path.',
    file: 'src/channels/webhook/inbound.ts',
    find: 'if (path !== this.#deps.path) return refusals.notFound;',
    replace: '',
  },
  {
    name: 'A body of exactly 1 MiB is refused.',
    file: 'src/channels/webhook/refusals.ts',
    find: 'bodyBytesMax = 1_048_576',
    replace: 'bodyBytesMax = 1_048_575',
  },
  {
    name: 'Where there is no conversation id, everybody is in one conversation.',
    file: 'src/channels/webhook/wire.ts',
    find: "fields.id('conversation_id') ?? sender",
    replace: "fields.id('conversation_id') ?? (sender && { text: '', json: '\"\"' })",
  },
  {
    name: 'An id of one sender swallows the message that another sends with it.',
    file: 'src/channels/webhook/inbound.ts',
    find: 'digest([conversation, sender.id])',
    replace: 'digest([])',
  },
  {
    name: 'Another attachment under the same id is taken for a resend.',
    file: 'src/channels/webhook/inbound.ts',
    find: ', media?.reference ?? null',
    replace: '',
  },
  {
    name: 'A message that was not taken is acknowledged.',
    file: 'src/channels/webhook/inbound.ts',
    find: 'if (keyReused) return',
    replace: 'if (id === null) return',
  },
  {
    name: 'A 202 of the receiver counts as a failure, and it gets the reply again.',
    file: 'src/channels/webhook/webhook.ts',
    find: 'status >= 200 && status < 300',
    replace: 'status === 200',
  },
  {
    name: 'Each reply opens a connection, because its receiver answers with a body.',
    file: 'src/channels/webhook/webhook.ts',
    find: 'bodyBytesMax: answerBytesMax',
    replace: 'bodyBytesMax: 0',
  },
  {
    name: 'The signature of a reply is not of its own time.',
    file: 'src/channels/webhook/webhook.ts',
    find: 'signatureOf({ id: reply.id, timestamp, body }, key)',
    replace: 'signatureOf({ id: reply.id, timestamp: `${reply.createdAt}`, body }, key)',
  },
  {
    name: 'A signing key that is too short for anybody to rely on is taken.',
    file: 'src/config/secret-value.ts',
    find: 'const [bytesMin, bytesMax] = [24, 64];',
    replace: 'const [bytesMin, bytesMax] = [8, 64];',
    seenBy: ['src/channels/webhook/signing.test.ts'],
  },
  {
    name: 'A reply that may have arrived goes out without its mark.',
    file: 'src/channels/webhook/webhook.ts',
    find: "if (attempt.possibleDuplicate) headers['svc-possible-duplicate'] = 'true';",
    replace: '',
  },
  {
    name: 'A receiver that is gone for good is tried for three days.',
    file: 'src/channels/webhook/webhook.ts',
    find: 'if (status === 410) return',
    replace: 'if (status === 499) return',
  },
];

export const telegram: readonly Fault[] = [
  {
    name: 'A group gets more than 20 messages a minute.',
    file: 'src/channels/telegram/rate-limits.ts',
    find: 'group: { everyMs: 4_000',
    replace: 'group: { everyMs: 2_000',
  },
  {
    name: 'The first piece of a stream plans the first sight, and more bring it no sooner.',
    file: 'src/channels/messenger/growing-message.ts',
    find: '(this.#next !== null && this.#dueAt <= at)',
    replace: 'this.#next !== null',
  },
  {
    name: 'A draft is tried again in every chat, although the server has none.',
    file: 'src/channels/telegram/drafts.ts',
    find: 'this.#refusedUntil.set(kind, until);\n    } else',
    replace: 'void kind;\n    } else',
  },
  {
    name: 'What a refusal taught is forgotten where a group has had its allowance.',
    file: 'src/channels/telegram/sending.ts',
    find: 'tries === 1 ? undefined : tryMs',
    replace: 'undefined',
  },
  {
    name: 'A send whose end was not seen is made again at once, while the relay is away.',
    file: 'src/channels/telegram/sending.ts',
    find: 'ms: 40_000, share: 0.5',
    replace: 'ms: 1_000, share: 0.5',
  },
  {
    name: 'A platform that repeats what was sent has it shown with the dead letter.',
    file: 'src/domain/upstream-words.ts',
    find: 'if (sent.some((text) => repeatsPieceOf(start, text))) return null;',
    replace: '',
  },
  {
    name: 'An update that the ledger refused is confirmed to Telegram, and lost.',
    file: 'src/channels/telegram/polling.ts',
    find: 'return pause(handled.retryAfterMs, this.#signal);',
    replace: 'return this.#hold(part, messages.map(() => null));',
  },
  {
    name: 'An update is confirmed to Telegram before it is safe.',
    file: 'src/channels/telegram/polling.ts',
    find: 'if (!held.safe && !isOver(held, this.#held.length - gone)) break;',
    replace: '',
  },
  {
    name: 'A message whose sending was not seen to end is sent to Telegram for a day.',
    file: 'src/channels/telegram/sending.ts',
    find: 'if (possibleDuplicate && mayBeLast) return dead(finalFailure(failure(kind, more)));',
    replace: '',
  },
  {
    name: 'A press on a messenger says whatever the program of who pressed wants.',
    file: 'src/channels/messenger/choices.ts',
    find: 'if (approvalCommand.test(data)) return true;',
    replace: 'return true;',
  },
  {
    name: 'A press that the gate turned away takes the buttons away on Telegram.',
    file: 'src/channels/telegram/polling.ts',
    find: 'if (receipt !== null && press !== undefined) {',
    replace: 'if (press !== undefined) {',
  },
  {
    name: 'A press below a message of another bot counts on Telegram.',
    file: 'src/channels/telegram/wire.ts',
    find: "if (object(under['from'])?.['id'] !== bot.id || under['date'] === 0) return null;",
    replace: '',
  },
  {
    name: 'In a Telegram group a command for another bot is answered.',
    file: 'src/channels/telegram/wire.ts',
    find: "if (marks === 'for_another' && isGroup) return null;",
    replace: '',
  },
  {
    name: 'A long text is cut inside a character.',
    file: 'src/channels/messenger/splitting.ts',
    find: 'return isInsidePair(text, low) ? low - 1 : low;',
    replace: 'return low;',
  },
];

export const discord: readonly Fault[] = [
  {
    name: 'A message of Discord that the ledger had no room for is lost.',
    file: 'src/channels/discord/intake.ts',
    find: '        this.#deps.refused(refusal);\n',
    replace: '',
  },
  {
    name: 'A model’s reply on Discord calls everybody.',
    file: 'src/channels/discord/wire.ts',
    find: 'allowed_mentions: { parse: [],',
    replace: "allowed_mentions: { parse: ['everyone'] as never[],",
  },
  {
    name: 'Discord fetches the links of an answer at once.',
    file: 'src/channels/discord/wire.ts',
    find: 'const suppressEmbeds = 1 << 2;',
    replace: 'const suppressEmbeds = 0;',
  },
  {
    name: 'A second try on Discord makes a second message.',
    file: 'src/channels/discord/wire.ts',
    find: 'enforce_nonce: true',
    replace: 'enforce_nonce: false',
  },
  {
    name: 'A beginning that nobody saw being made stays beside its reply on Discord.',
    file: 'src/channels/discord/place-reply.ts',
    find: '{ ...body, ...nonceOf(nonce) }',
    replace: 'body',
    seenBy: ['src/channels/discord/showing.test.ts'],
  },
  {
    name: 'A response that a process before completed is sent again.',
    file: 'src/channels/discord/deferrals.ts',
    find: "return isShown(state.body, reply) ? { kind: 'delivered' } : null;",
    replace: 'return null;',
    seenBy: ['src/channels/discord/deferrals.test.ts'],
  },
  {
    name: 'A press below a message of another bot counts on Discord.',
    file: 'src/channels/discord/interactions.ts',
    find: "if (fieldsOf(under['author'])['id'] !== self) return null;",
    replace: '',
  },
  {
    name: 'A press says what no button of that message says.',
    file: 'src/channels/messenger/choices.ts',
    find: 'buttonText.test(data) && shown.some(',
    replace: 'buttonText.test(data) || shown.some(',
  },
  {
    name: 'A later reply takes the place of the response to a slash command.',
    file: 'src/channels/discord/deferrals.ts',
    find: '& loading) !== 0',
    replace: '& loading) >= 0',
  },
  {
    name: 'Somebody who speaks as a channel in a group of Telegram is answered.',
    file: 'src/channels/telegram/wire.ts',
    find: "if (as['id'] !== chat) return null;",
    replace: '',
  },
  {
    name: 'Another bot on Discord is answered, and answers.',
    file: 'src/channels/discord/wire.ts',
    find: "if (fields['bot'] === true || fields['system'] === true) return null;",
    replace: '',
  },
  {
    name: 'So many sessions are begun that Discord takes the token away.',
    file: 'src/channels/discord/identify-budget.ts',
    find: 'if (this.#remaining === 0) return',
    replace: 'if (this.#remaining < -1_000) return',
  },
  {
    name: 'A handshake with Discord that is given up, and breaks off later, ends the process.',
    file: 'src/channels/discord/contained-shard.ts',
    find: "shard['connection']?.off('error', ignoreError).on('error', ignoreError);",
    replace: '',
  },
  {
    name: 'A stop ends the session on Discord, which then repeats nothing.',
    file: 'src/channels/discord/connection.ts',
    find: 'const resumableCode = 4200;',
    replace: 'const resumableCode = 1000;',
  },
];
