/** Faults in the names of channels, in what several channels share, and in conditions of routes. */
import { agent, change, plain, spoil, type Case } from './cases.ts';

/** Two bots of one platform, two webhooks on one address, and a route for each condition. */
export const several = `{
  "channels": [
    { "type": "telegram", "mode": "polling", "token_env": "BOT_A", "access": { "allow": ["1"] } },
    { "type": "messenger_a", "name": "support", "mode": "polling", "token_env": "BOT_B",
      "access": { "allow": ["2"] } },
    { "type": "webhook", "token_env": "HOOK", "webhook": { "outbound_url": "http://a.test/" } },
    { "type": "webhook", "name": "intake", "token_env": "HOOK",
      "webhook": { "path": "/intake", "outbound_url": "http://a.test/" } }
  ],
  "brains": [
    { "name": "main", "sensitivity": "public", "policy": { "kind": "priority" },
      "models": [{ "provider": "ollama", "model_id": "m", "locality": "local" }],
      "agent": { "tools": ["time"], "approvers": ["telegram:1", "support:2"],
        "governance": [
          { "tool": "time", "mode": "ask", "channels": ["telegram", "support", "completions"] }
        ] } },
    { "name": "code", "sensitivity": "public", "policy": { "kind": "priority" },
      "models": [{ "provider": "ollama", "model_id": "m", "locality": "local" }] }
  ],
  "routes": [
    { "channel": "telegram", "brain": "code", "when": { "senders": [1], "commands": ["/code"] },
      "description": "Ask about code" },
    { "channel": "telegram", "brain": "code", "when": { "chats": [-1001], "topics": ["7"] } },
    { "channel": "messenger_a", "brain": "main", "when": {} },
    { "channel": "support", "brain": "code", "when": { "commands": ["/code", "/review"] } },
    { "channel": "support", "brain": "main" },
    { "channel": "webhook", "brain": "main", "when": { "senders": ["ada"], "chats": ["a-b"] } },
    { "channel": "webhook", "brain": "code" },
    { "channel": "intake", "brain": "main" }
  ],
  "storage": {},
  "session": {}
}`;

const spoilt = spoil(several);
const inAgent = spoil(agent);
const ofSupport =
  '{ "channel": "support", "brain": "code", "when": { "commands": ["/code", "/review"] } }';
const lastOfSupport = '{ "channel": "support", "brain": "main" }';
const group = '"when": { "chats": [-1001], "topics": ["7"] }';
const ada = '"when": { "senders": ["ada"], "chats": ["a-b"] }';
const named = (name: string): readonly string[] => ['"name": "support"', `"name": ${name}`];
const unrouted = ['unknown_channel', 'unknown_channel'] as const;
const privateCode = [
  '"name": "code", "sensitivity": "public"',
  '"name": "code", "sensitivity": "private"',
] as const;

export const routeCases: readonly Case[] = [
  ...['«"messenger_b"', '«"discord"', '«"webhook"', '«"completions"'].map((name) =>
    spoilt(
      `a bot of Telegram with the name ${name.slice(1)}`,
      named(name),
      'name_reserved',
      'channels[1].name',
    ),
  ),
  spoilt(
    'a name that says the own type is no name',
    [...named('"telegram"'), '{ "type": "messenger_a", "name"', '{ "type": «"messenger_a", "name"'],
    'duplicate_channel',
    'channels[1].type',
    ...unrouted,
    'approver_unreached',
    'unknown_channel',
  ),
  spoilt(
    'two channels of one name',
    ['"name": "intake"', '"name": «"support"'],
    'duplicate_channel',
    'channels[3].name',
    'unknown_channel',
  ),
  spoilt(
    'two bots with one variable',
    ['"token_env": "BOT_B"', '"token_env": «"BOT_A"'],
    'token_shared',
    'channels[1].token_env',
  ),
  spoilt(
    'two webhooks on one path',
    [
      '{ "path": "/intake", "outbound',
      '{ "bind": «"127.0.0.1:8090", "path": "/webhook", "outbound',
    ],
    'address_twice',
    'channels[3].webhook.bind',
  ),
  spoilt(
    'two webhooks whose addresses overlap',
    ['{ "path": "/intake"', '{ "bind": «"0.0.0.0:8090", "path": "/intake"'],
    'address_twice',
    'channels[3].webhook.bind',
    'not_loopback',
  ),
  inAgent(
    'a grant for a channel that nobody knows',
    ['["telegram"]', '[«"fax"]'],
    'unknown_channel',
    'brains[0].agent.governance[0].channels[0]',
  ),
  spoilt(
    'a grant for a type whose bot has no route to the brain',
    [
      '"channel": "messenger_a", "brain": "main"',
      '"channel": "messenger_a", "brain": "code"',
      '["telegram", "support", "completions"]',
      '[«"telegram"]',
    ],
    'grant_idle',
    'brains[0].agent.governance[0].channels[0]',
  ),
  spoilt(
    'a user name of an approver on a named messenger',
    ['"support:2"', '«"support:@boss"'],
    'bad_approver',
    'brains[0].agent.approvers[1]',
  ),
  spoilt(
    'an approver on a named webhook',
    ['"support:2"', '«"intake:ada"'],
    'approver_unreached',
    'brains[0].agent.approvers[1]',
  ),
  spoilt(
    'an approver whom the gate of a named bot turns away',
    ['"support:2"', '«"support:1"'],
    'approver_turned_away',
    'brains[0].agent.approvers[1]',
  ),
  spoilt(
    'a channel with conditional routes only',
    [lastOfSupport, '{ "channel": "intake", "brain": "main" }', ofSupport, `«${ofSupport}`],
    'route_without_rest',
    'routes[3]',
    'route_repeated',
  ),
  spoilt(
    'a conditional route behind the last one',
    [lastOfSupport, '«later', ofSupport, lastOfSupport, 'later', ofSupport],
    'route_never_reached',
    'routes[4]',
  ),
  spoilt(
    'two last routes to two brains',
    [lastOfSupport, `${lastOfSupport}, { "channel": "support", "brain": «"code", "when": null }`],
    'routed_twice',
    'routes[5].brain',
  ),
  spoilt(
    'the same conditions for two brains',
    [
      ofSupport,
      `${ofSupport}, «{ "channel": "support", "brain": "main",
        "when": { "commands": ["/review", "/code", "/code"] } }`,
    ],
    'route_never_reached',
    'routes[4]',
  ),
  spoilt(
    'the same conditional route twice',
    [ofSupport, `${ofSupport}, «${ofSupport}`],
    'route_repeated',
    'routes[4]',
  ),
  spoilt(
    'one command of two routes',
    [
      ofSupport,
      `${ofSupport}, { "channel": "support", "brain": "main",
        "when": { "commands": ["/next", «"/review"] } }`,
    ],
    'route_never_reached',
    'routes[4].when.commands[1]',
  ),
  spoilt(
    'topics of a webhook',
    [ada, '"when": { "senders": ["ada"], «"topics": [7] }'],
    'not_here',
    'routes[5].when.topics',
  ),
  spoilt(
    'topics of every group of Telegram',
    [group, '"when": { "topics": «["7"] }'],
    'topics_of_each_chat',
    'routes[1].when.topics',
  ),
  ...['/new', '/reset'].map((word) =>
    spoilt(
      `the command ${word}, which begins a session`,
      ['"/review"', `«"${word}"`],
      'bad_command',
      'routes[3].when.commands[1]',
    ),
  ),
  ...'recall notes tools approve refuse retry help start'
    .split(' ')
    .map((word) =>
      spoilt(
        `the command /${word}, which is svc's own`,
        ['"/review"', `«"/${word}"`],
        'bad_command',
        'routes[3].when.commands[1]',
      ),
    ),
  spoilt(
    'a command that no platform can show',
    ['"/review"', '«"/Re-view"'],
    'bad_command',
    'routes[3].when.commands[1]',
  ),
  spoilt(
    'a description that no menu can show',
    ['"Ask about code"', `«"${'é'.repeat(101)}"`],
    'too_long',
    'routes[0].description',
  ),
  spoilt(
    'a description that nobody sees',
    [group, `${group}, "description": «"The team's topic"`],
    'description_unseen',
    'routes[1].description',
  ),
  spoilt(
    'a user name of a sender on a messenger',
    ['"senders": [1]', '"senders": [«"@boss"]'],
    'bad_user_id',
    'routes[0].when.senders[0]',
  ),
  spoilt(
    'a name of a group',
    ['"chats": [-1001]', '"chats": [«"@our_group"]'],
    'bad_id',
    'routes[1].when.chats[0]',
  ),
  ...['', 'a b'].map((id) =>
    spoilt(
      `the sender "${id}" of a webhook`,
      ['"senders": ["ada"]', `"senders": ["ada", «"${id}"]`],
      'bad_id',
      'routes[5].when.senders[1]',
    ),
  ),
  spoilt(
    'an id of more digits than a number keeps',
    ['"senders": [1]', '"senders": [«12345678901234567890]'],
    'wrong_type',
    'routes[0].when.senders[0]',
  ),
  spoilt(
    'a condition of no entries',
    ['"senders": [1]', '"senders": «[]'],
    'too_few',
    'routes[0].when.senders',
  ),
  spoil(change(several, ...privateCode))(
    'a private brain behind a condition, and a public one behind it',
    [
      '{ "channel": "telegram", "brain": "code", "when": { "senders"',
      '«{ "channel": "telegram", "brain": "code", "when": { "senders"',
      '"channel": "support", "brain": "code"',
      '"channel": "support", "brain": "main"',
    ],
    'private_falls_through',
    'routes[0]',
  ),
  spoil(plain)(
    'speech of a channel with one private brain among its routes',
    [
      '"channels": [',
      `"channels": [{ "type": "discord", "mode": "gateway", "token_env": "D",
        "access": { "allow": ["1"] },
        "speech": { "base_url": «"https://8.8.8.8/v1", "model": "m" } },`,
      '"brains": [',
      `"brains": [{ "name": "open", "sensitivity": "public", "policy": { "kind": "priority" },
        "models": [{ "provider": "ollama", "model_id": "m", "locality": "local" }] },`,
      '"routes": [',
      `"routes": [{ "channel": "discord", "brain": "main", "when": { "senders": ["1"] } },
        { "channel": "discord", "brain": "open" },`,
    ],
    'speech_far',
    'channels[0].speech.base_url',
    'private_falls_through',
  ),
];
