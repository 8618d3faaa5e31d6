/** Faults of the block that offers brains to API clients. */
import { spoil, type Case } from './cases.ts';

/** Brains for clients alone, without a channel and without a route. */
export const offering = `{
  "brains": [
    { "name": "home", "sensitivity": "private", "policy": { "kind": "priority" },
      "models": [{ "provider": "ollama", "model_id": "m", "locality": "local" }] },
    { "name": "tools", "sensitivity": "private", "policy": { "kind": "priority" },
      "models": [{ "provider": "ollama", "model_id": "m", "locality": "local" }],
      "agent": { "tools": ["time", "read_file"], "read_file": { "root": "files" },
        "governance": [
          { "tool": "time", "mode": "allow", "channels": ["completions"] },
          { "tool": "read_file", "mode": "ask" }
        ] } }
  ],
  "completions": { "token_env": "API_TOKEN", "brains": ["home", "tools"] },
  "storage": {}
}`;

const spoilt = spoil(offering);
const list = '["home", "tools"]';
const block = '"completions": { "token_env": "API_TOKEN", "brains": ["home", "tools"] },';
const bind = (address: string) => [list, `${list}, "bind": «"${address}"`];

export const completionsCases: readonly Case[] = [
  spoilt(
    'a brain for clients that nobody configured',
    [list, '["home", "tools", «"hoem"]'],
    'unknown_brain',
    'completions.brains[2]',
  ),
  spoilt(
    'a brain for clients twice',
    [list, '["home", "tools", «"home"]'],
    'brain_repeated',
    'completions.brains[2]',
  ),
  spoilt(
    'a brain that neither clients nor routes name',
    ['{ "name": "tools"', '«{ "name": "tools"', list, '["home"]'],
    'brain_without_route',
    'brains[1]',
  ),
  spoilt(
    'a private and a public brain for the same clients',
    ['"name": "home", "sensitivity": "private"', '"name": "home", "sensitivity": "public"'].concat(
      list,
      `«${list}`,
    ),
    'private_beside_public',
    'completions.brains',
  ),
  spoilt(
    'all brains for clients, a private and a public one',
    [
      '"name": "home", "sensitivity": "private"',
      '"name": "home", "sensitivity": "public"',
      '{ "token_env": "API_TOKEN", "brains": ["home", "tools"] }',
      '«{ "token_env": "API_TOKEN" }',
    ],
    'private_beside_public',
    'completions.brains',
  ),
  spoilt(
    'a grant that asks clients of the API',
    ['"allow", "channels": ["completions"]', '"ask", "channels": [«"completions"]'],
    'ask_unheard',
    'brains[1].agent.governance[0].channels[0]',
  ),
  spoilt(
    'a value in the place of its name',
    ['"API_TOKEN"', '«"sk-1234"'],
    'value_not_name',
    'completions.token_env',
  ),
  spoilt(
    'no secret for clients',
    ['{ "token_env": "API_TOKEN", ', '«{ '],
    'required',
    'completions.token_env',
  ),
  spoilt('no brain for clients', [list, '«[]'], 'too_few', 'completions.brains'),
  spoilt(
    'no requests at one time',
    [list, `${list}, "max_in_flight": «0`],
    'out_of_range',
    'completions.max_in_flight',
  ),
  spoilt(
    'more requests at one time than svc handles',
    [list, `${list}, "max_in_flight": «5000`],
    'clamped',
    'completions.max_in_flight',
  ),
  spoilt(
    'the address of the admin server',
    bind('127.0.0.1:2112'),
    'address_twice',
    'completions.bind',
  ),
  spoilt('an address beyond loopback', bind(':8092'), 'not_loopback', 'completions.bind'),
  spoilt('a port that browsers refuse', bind('127.0.0.1:6667'), 'browser_port', 'completions.bind'),
  spoilt('no address', bind('8092'), 'bad_address', 'completions.bind'),
  spoilt(
    'the address of a webhook',
    [
      '"brains": [\n',
      '"channels": [{ "type": "webhook", "token_env": "HOOK",\n' +
        '  "webhook": { "bind": "127.0.0.1:8092", "outbound_url": "http://a.test" } }],\n' +
        '"routes": [{ "channel": "webhook", "brain": "home" }],\n"brains": [\n',
      block,
      `${block.slice(0, -3)}, "bind": «"127.0.0.1:8092" },`,
    ],
    'address_twice',
    'completions.bind',
  ),
  spoilt(
    'a route from a channel where there is none',
    ['"brains": [\n', '"routes": [{ "channel": «"telegram", "brain": "home" }],\n"brains": [\n'],
    'unknown_channel',
    'routes[0].channel',
  ),
  spoilt(
    'nobody to answer: no channels',
    [block, '"channels": «[], "routes": [{ "channel": "webhook", "brain": "home" }],'],
    'too_few',
    'channels',
    'brain_without_route',
  ),
];
