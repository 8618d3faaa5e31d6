/** Names and descriptions of fields, for a person who does not read JSON. */
import type { ReactNode } from 'react';
import type { Field } from '../../../src/config/field.ts';
import type { Json } from '../../../src/config/locate.ts';
import { modelName } from '../outline/tree.ts';
import { channelTitle } from '../document/channels.ts';
import { choiceOf, inPlainWords } from '../document/choice-words.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { isList, valueAt, wordOf } from '../document/value.ts';

const labels: Readonly<Record<string, string>> = {
  addr: 'Address',
  admin: 'Administrator',
  allow: 'Who may talk',
  allow_hosts: 'Hosts that may be reached',
  allowed_hosts: 'Further host names',
  api_key_env: 'Variable with the API key',
  base_url: 'Base URL',
  bind: 'Address to listen on',
  budget_runes: 'Characters of notes in a prompt',
  completions: 'Chat completions',
  conversation_id: 'Conversation id',
  daily_at: 'Daily end',
  deadline_seconds: 'Deadline in seconds',
  governance: 'Grants',
  http_fetch: 'Fetching pages',
  idle_min: 'Idle minutes',
  max_bytes: 'Most bytes',
  max_in_flight: 'Most at one time',
  max_iterations: 'Model calls in a turn',
  max_note_runes: 'Longest note',
  max_notes: 'Most notes',
  max_redirects: 'Most redirects',
  max_retries: 'Further tries',
  media_type: 'Media type',
  memory: 'Notes',
  media_url: 'Media URL',
  model_id: 'Model',
  observability: 'Admin server',
  outbound_signing_env: 'Variable with the key that signs replies',
  outbound_token_env: 'Variable with the secret of replies',
  outbound_url: 'URL for replies',
  read_file: 'Reading files',
  recall_max: 'Turns to recall',
  retention_days: 'Days to keep',
  sender_id: 'Sender id',
  session: 'Sessions',
  skills_body_budget: 'Characters of skills in a prompt',
  skills_dir: 'Folder of skills',
  speech: 'Voice messages',
  timeout_seconds: 'Time limit in seconds',
  token_env: 'Variable with the token',
  url_env: 'Variable with the database URL',
  vision: 'Sees pictures',
  webhook_call: 'Calling webhooks',
  when: 'Conditions',
};

/** `daily_at` → `Daily end`, `max_speed` → `Max speed`. */
export function labelOf(key: string): string {
  const spaced = key.replaceAll('_', ' ');
  return labels[key] ?? spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

const singles: Readonly<Record<string, string>> = {
  channels: 'channel',
  brains: 'brain',
  routes: 'route',
  models: 'model',
  governance: 'grant',
  allow: 'user id',
  allow_hosts: 'host',
  allowed_hosts: 'host',
  triggers: 'trigger',
  order: 'entry',
  senders: 'sender',
  chats: 'chat',
  topics: 'topic',
  commands: 'command',
};

/** The noun for one entry of a list. */
export const singleOf = (key: string): string => singles[key] ?? 'entry';

/** The title of an entry of a list. */
export function entryName(list: string, entry: Json, at: number): string {
  switch (list) {
    case 'channels':
      return channelTitle(entry);
    case 'brains':
      return wordOf(valueAt(entry, ['name'])) || 'A brain without a name';
    case 'models':
      return modelName(entry);
    case 'governance':
      return `${wordOf(valueAt(entry, ['tool'])) || '?'}: ${wordOf(valueAt(entry, ['mode']))}`;
    default:
      return `${singleOf(list)} ${at + 1}`;
  }
}

const meanings: Readonly<Record<string, string>> = {
  fanout: 'all at once: every model is asked',
  sequential: 'in turn: until one answers',
  priority: 'priority: the best-ranked answer',
  consensus: 'consensus: what most agree on',
  private: 'private: local models only',
  public: 'public: any model',
  local: 'local: runs on your machines',
  cloud: 'cloud: somebody else runs it',
  mention: 'mention: when it is mentioned',
  all: 'all: every message',
  off: 'off: never',
  allow: 'allow: it runs',
  ask: 'ask: it runs after a yes',
  shadow: 'shadow: recorded, not run',
  deny: 'deny: hidden from the model',
  conversation: 'conversation: each its own notes',
  brain: 'brain: one set for all',
};

/** A name of the contract with its meaning; another common name comes first. */
export const meaningOf = (name: string): string => meanings[name] ?? choiceOf(name);

/** A sentence of the schema in the words of the form, with its code marks as `<code>`. */
export function sentence(text: string): ReactNode {
  const parts = inPlainWords(text).split('`');
  // The parts of one sentence never change their order.
  // oxlint-disable-next-line react/no-array-index-key
  return parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}

/** The field's meaning, its default, and its allowed values. */
export function hintOf(field: Field): ReactNode {
  return (
    <>
      {sentence(field.description)}
      {sentence(limitsOf(field))}
      {field.lifetime === undefined ? null : restarts[field.lifetime]}
    </>
  );
}

const restarts = {
  process: ' A change needs a restart.',
  port: ' Another host on the same port needs a restart.',
} as const;

function limitsOf(field: Field): string {
  const note = 'defaultNote' in field ? field.defaultNote : undefined;
  const standard = note ?? (field.type === 'object' ? undefined : shown(field.default));
  const without = standard === undefined ? '' : ` Left empty: ${standard}.`;
  return rangeOf(field) + without;
}

function shown(value: Json | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (!isList(value)) return `\`${wordOf(value)}\``;
  return value.length === 0 ? 'none' : value.map((one) => `\`${wordOf(one)}\``).join(', ');
}

function rangeOf(field: Field): string {
  if (field.type === 'decimal') return ` A number, ${field.minimum} to ${field.maximum}.`;
  if (field.type !== 'integer') return '';
  const { minimum, maximum, zeroIsDefault } = field;
  const range = maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`;
  return ` A whole number, ${range}${zeroIsDefault === true ? '; 0 is the default' : ''}.`;
}

/** The value that an empty input means. */
export function placeholderOf(field: Field): string {
  if (field.type === 'object' || field.type === 'list' || field.type === 'map') return '';
  if (field.default === undefined) return '';
  return field.type === 'choice' ? choiceOf(field.default) : String(field.default);
}

/** The last key of a path; for an entry, the key of its list. */
export function keyOf(path: Path): string {
  return path.findLast((step) => typeof step === 'string') ?? '';
}
