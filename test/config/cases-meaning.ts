/** Faults of combinations of fields. */
import { agent, change, plain, spoil, type Case } from './cases.ts';

const spoilt = spoil(plain);
const inAgent = spoil(agent);
const model = '{ "provider": "local_runtime", "model_id": "llama3", "locality": "local" }';
const local = (id: string, more = ''): string =>
  `{ "provider": "ollama", "model_id": "${id}", "locality": "local"${more} }`;
const cloud = (id: string): string =>
  `{ "provider": "openai", "model_id": "${id}", "locality": "cloud", "api_key_env": "K" }`;
const agentModel =
  '"models": [{ "provider": "ollama", "model_id": "llama3", "locality": "local" }]';
const otherBrain = (name: string): string =>
  `{ "name": "${name}", "sensitivity": "public", "policy": { "kind": "priority" },
    "models": [${model}] },`;
const routed = (more: string): string => `${route.slice(0, -1)}, ${more}]`;
const route = '"routes": [{ "channel": "webhook", "brain": "main" }]';
const opened = '{ "allow": ["123"], "groups": "off" }';
const noStorage = ['"storage": { "path": "svc.db" }', '"_storage": 0'] as const;
const publicBrain = change(plain, '"sensitivity": "private"', '"sensitivity": "public"');
const sequential = change(plain, '"fanout"', '"sequential"');

export const meaningCases: readonly Case[] = [
  spoilt(
    'two webhooks',
    [
      '{ "type": "webhook", "token_env": "HOOK_SECRET",',
      '{ "type": "webhook", "token_env": "S", "webhook": ' +
        '{ "outbound_url": "http://b.test", "bind": "127.0.0.1:1" } },\n' +
        '{ "type": «"webhook", "token_env": "HOOK_SECRET",',
    ],
    'duplicate_channel',
    'channels[1].type',
    'browser_port',
  ),
  inAgent(
    'one messenger under two names',
    [
      '{ "type": "messenger_a"',
      '{ "type": "telegram", "mode": "polling", "token_env": "B", "access": { "allow": [] } },' +
        '{ "type": «"messenger_a"',
    ],
    'duplicate_channel',
    'channels[1].type',
  ),
  spoilt(
    'two brains of one name',
    [
      '"brains": [',
      `"brains": [${otherBrain('main')}`,
      '"name": "main", "sensitivity": "private"',
      '"name": «"main", "sensitivity": "private"',
    ],
    'duplicate_brain',
    'brains[1].name',
  ),
  spoilt(
    'a route from nowhere',
    [route, routed('{ "channel": «"discord", "brain": "main" }')],
    'unknown_channel',
    'routes[1].channel',
  ),
  spoilt(
    'a route to nowhere',
    [route, '"routes": [{ "channel": "webhook", "brain": «"mian" }]'],
    'unknown_brain',
    'routes[0].brain',
    'brain_without_route',
  ),
  spoilt(
    'one channel to two brains',
    [route, routed('{ "channel": "webhook", "brain": «"other" }')],
    'routed_twice',
    'routes[1].brain',
    'unknown_brain',
  ),
  spoilt(
    'the same route twice',
    [route, routed('«{ "channel": "webhook", "brain": "main" }')],
    'route_repeated',
    'routes[1]',
  ),
  spoilt(
    'a channel without a route',
    [
      '"channels": [',
      '"channels": [«{ "type": "discord", "mode": "gateway", "token_env": "D", ' +
        '"access": { "pairing": true } },',
    ],
    'channel_without_route',
    'channels[0]',
  ),
  spoilt(
    'a brain without a route',
    ['"brains": [', `"brains": [«${otherBrain('other')}`],
    'brain_without_route',
    'brains[0]',
  ),
  spoilt(
    'a consensus of one',
    ['"kind": "priority"', '"kind": «"consensus"'],
    'consensus_alone',
    'brains[0].policy.kind',
  ),
  spoil(change(sequential, '"priority"', '"consensus"'))(
    'a consensus one by one',
    [model, `${model}, ${local('b')}`, '"sequential"', '«"sequential"'],
    'consensus_sequential',
    'brains[0].dispatch',
  ),
  inAgent(
    'no cage for files',
    ['"read_file": { "root": "files" },', '', '"read_file"', '«"read_file"'],
    'cage_missing',
    'brains[0].agent.tools[1]',
  ),
  inAgent(
    'no cage for notes',
    ['"memory": { "scope": "brain" }', '"_memory": 0', '"memory_note"', '«"memory_note"'],
    'cage_missing',
    'brains[0].agent.tools[4]',
  ),
  inAgent(
    'a cage without its tool',
    ['"webhook_call", "memory_note"]', '"webhook_call"]', '"memory"', '«"memory"'],
    'cage_without_tool',
    'brains[0].agent.memory',
  ),
  inAgent(
    'a grant for what is not listed',
    ['{ "tool": "http_fetch"', '{ "tool": «"calc"'],
    'grant_unlisted',
    'brains[0].agent.governance[0].tool',
  ),
  inAgent(
    'two grants on one channel',
    ['["telegram"] }', '["telegram"] }, «{ "tool": "http_fetch", "mode": "deny" }'],
    'grants_overlap',
    'brains[0].agent.governance[1]',
  ),
  inAgent(
    'a grant for a channel that is not there',
    ['["telegram"]', '["telegram", «"webhook"]'],
    'grant_idle',
    'brains[0].agent.governance[0].channels[1]',
  ),
  inAgent(
    'a grant for no channel',
    ['["telegram"]', '«[]'],
    'grant_idle',
    'brains[0].agent.governance[0].channels',
  ),
  inAgent(
    'notes without storage',
    [...noStorage, '"memory"', '«"memory"'],
    'memory_without_storage',
    'brains[0].agent.memory',
  ),
  inAgent(
    'notes of a brain for a cloud model',
    [agentModel, `"models": [${cloud('big')}]`, '"brain" }\n', '«"brain" }\n'],
    'brain_scope_not_local',
    'brains[0].agent.memory.scope',
    'agent_reads_to_cloud',
  ),
  inAgent(
    'notes of a brain for a model that its runtime sends away',
    ['"llama3"', '"gpt-oss:120b-cloud"', '"brain" }\n', '«"brain" }\n'],
    'brain_scope_not_local',
    'brains[0].agent.memory.scope',
    'cloud_tag',
  ),
  inAgent(
    'files for a cloud model',
    [
      agentModel,
      `"models": [${cloud('big')}]`,
      '"brain" }\n',
      '"conversation" }\n',
      '"read_file", ',
      '«"read_file", ',
    ],
    'agent_reads_to_cloud',
    'brains[0].agent.tools[1]',
  ),
  inAgent(
    'notes of the brain, and a cloud model behind the local one',
    [agentModel, `"models": [${local('a')}, ${cloud('b')}]`, '"brain" }\n', '«"brain" }\n'],
    'brain_scope_leaves_out',
    'brains[0].agent.memory.scope',
  ),
  inAgent(
    'a tool twice',
    ['["time", ', '["time", «"time", '],
    'tool_repeated',
    'brains[0].agent.tools[1]',
  ),
  inAgent(
    'a host with a scheme',
    ['["b.test"]', '[«"https://b.test"]'],
    'host_never_matches',
    'brains[0].agent.webhook_call.allow_hosts[0]',
  ),
  ...['/approve', '/refuse', '/retry', '/help', '/start'].map((word) =>
    spoilt(
      `the trigger ${word}, which is a command`,
      ['["/new"]', `["/new", «"${word}"]`],
      'trigger_is_command',
      'session.triggers[1]',
    ),
  ),
  inAgent(
    'this machine on every port',
    ['"10.0.0.1:8080"', '«"127.0.0.1"'],
    'host_without_port',
    'brains[0].agent.http_fetch.allow_hosts[3]',
  ),
  inAgent(
    'known people, files and pages of others',
    ['"governance"', '"_governance"', '"tools": [', '"tools": «['],
    'agent_can_leak',
    'brains[0].agent.tools',
  ),
  inAgent(
    'strangers, notes and a way out',
    [
      opened,
      '{ "groups": "all", "pairing": true }',
      '"governance"',
      '"_governance"',
      '"tools": [',
      '"tools": «[',
    ],
    'agent_can_leak',
    'brains[0].agent.tools',
  ),
  inAgent(
    'pairing without storage',
    [opened, '{ "allow": [], "pairing": «true }', ...noStorage],
    'pairing_without_storage',
    'channels[0].access.pairing',
    'memory_without_storage',
  ),
  inAgent(
    'a messenger for anyone',
    [
      `"token_env": "BOT_TOKEN",\n      "access": ${opened} }`,
      '"token_env": "BOT_TOKEN" }',
      '{ "type": "messenger_a"',
      '«{ "type": "messenger_a"',
    ],
    'access_open',
    'channels[0].access',
  ),
  spoilt(
    'sessions without storage',
    [...noStorage, '"session"', '«"session"'],
    'session_without_storage',
    'session',
  ),
  spoilt(
    'two listeners on one address',
    ['"127.0.0.1:2112"', '«"localhost:8090"'],
    'address_twice',
    'observability.addr',
  ),
  spoilt(
    'the address of the admin server by default',
    ['"127.0.0.1:8090"', '"127.0.0.1:2112"', '{ "addr": "127.0.0.1:2112" }', '«{}'],
    'address_twice',
    'observability.addr',
  ),
  spoilt(
    'a listener open to all',
    ['"127.0.0.1:8090"', '«":8090"'],
    'not_loopback',
    'channels[0].webhook.bind',
  ),
  spoilt(
    'an admin server open to all',
    ['"127.0.0.1:2112"', '«"[::]:2112"'],
    'not_loopback',
    'observability.addr',
  ),
  spoilt(
    'a port that browsers refuse',
    ['"127.0.0.1:2112"', '«"127.0.0.1:6000"'],
    'browser_port',
    'observability.addr',
  ),
  spoilt(
    'one key for two fields',
    ['"text": "message"', '"text": «"sender_id"'],
    'mapping_shared',
    'channels[0].webhook.mapping.text',
  ),
  spoilt(
    'a cloud tag on a private brain',
    ['"llama3"', '«"qwen3:480b-cloud"'],
    'cloud_tag_private',
    'brains[0].models[0].model_id',
  ),
  spoil(publicBrain)(
    'a cloud tag on a public brain',
    ['"llama3"', '«"qwen3:cloud"'],
    'cloud_tag',
    'brains[0].models[0].model_id',
  ),
  spoilt(
    'a private brain with cloud models only',
    [model, cloud('big'), '"models": [', '"models": «['],
    'private_without_local',
    'brains[0].models',
    'order_unknown',
  ),
  ...['/v1', '/api', '/api/chat', '/v1/chat/completions'].map((ending) =>
    spoilt(
      `a local runtime at an address that ends in ${ending}`,
      [model, local('a', `, "base_url": «"http://127.0.0.1:11434${ending}"`)],
      'base_url_ending',
      'brains[0].models[0].base_url',
    ),
  ),
  ...['/chat/completions', '/models'].map((ending) =>
    spoilt(
      `a hosted runtime at an address that ends in ${ending}`,
      [
        model,
        `{ "provider": "openai", "model_id": "a", "locality": "local",
          "base_url": «"http://127.0.0.1:8000/v1${ending}" }`,
      ],
      'base_url_ending',
      'brains[0].models[0].base_url',
      'order_unknown',
    ),
  ),
  spoilt(
    'a private brain that asks elsewhere',
    [model, local('a', ', "base_url": «"http://10.0.0.2:11434"')],
    'private_elsewhere',
    'brains[0].models[0].base_url',
  ),
  ...[
    '8.8.8.8:11434',
    '[2606:4700::1111]',
    '[::ffff:8.8.8.8]',
    'OLLAMA.com.',
    'eu.api.groq.com',
  ].map((host) =>
    spoilt(
      `a private brain whose local model is at ${host}`,
      [model, local('a', `, "base_url": «"https://${host}"`)],
      'private_far',
      'brains[0].models[0].base_url',
    ),
  ),
  spoilt(
    'a private brain whose local model is where the hosted API is by default',
    [model, '«{ "provider": "openai", "model_id": "a", "locality": "local" }'],
    'private_far',
    'brains[0].models[0].base_url',
    'order_unknown',
  ),
  ...['10.0.0.2', '[fd00::2]', '100.64.0.2', 'myollama.com', 'gpu.lan', 'api.openai.com.lan'].map(
    (host) =>
      spoilt(
        `a private brain that may be at home at ${host}`,
        [model, local('a', `, "base_url": «"http://${host}"`)],
        'private_elsewhere',
        'brains[0].models[0].base_url',
      ),
  ),
  spoilt(
    'a key that goes to another machine without encryption',
    [model, cloud('a').replace(' }', ', "base_url": «"http://a.test/v1" }')],
    'not_encrypted',
    'brains[0].models[0].base_url',
    'order_unknown',
    'private_without_local',
  ),
  spoilt(
    'replies whose secret goes to another machine without encryption',
    [
      '"outbound_url": "http://a.test/out"',
      '"outbound_token_env": "OUT", "outbound_url": «"http://10.0.0.2/out"',
    ],
    'not_encrypted',
    'channels[0].webhook.outbound_url',
  ),
  inAgent(
    'a bot whose token goes to another machine without encryption',
    ['"mode": "polling"', '"mode": "polling", "base_url": «"http://relay.test"'],
    'not_encrypted',
    'channels[0].base_url',
  ),
  spoilt(
    'an order of unknown names',
    ['["local_runtime"]', '["llama3", «"openai/gpt"]'],
    'order_unknown',
    'brains[0].policy.order[1]',
  ),
  spoil(sequential)(
    'an order that sequential dispatch does not follow',
    ['["local_runtime"]', '«["b"]', model, `${model}, ${local('b')}`],
    'order_not_asked',
    'brains[0].policy.order',
  ),
  spoilt(
    'an admin block without its server',
    [
      '"observability": { ',
      '«"admin": { "token_env": "ADMIN" }, "observability": { "enabled": false, ',
    ],
    'admin_unserved',
    'admin',
  ),
  spoilt(
    'a file and a database server',
    ['"path": "svc.db"', '"path": "svc.db", «"url_env": "DATABASE_URL"'],
    'storage_twice',
    'storage.url_env',
  ),
];
