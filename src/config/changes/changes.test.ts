/** The differences between two configurations, in words for the person who applies them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templates, textOf } from '../templates/templates.ts';
import { changesOf, sentencesOf, consequencesOf } from './changes.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- tests write into it anywhere
type Loose = any;

const webhookBlock = { outbound_url: 'http://127.0.0.1:9000/replies' };

/** Compares a configuration with the same one after a change. */
function changesAfter(change: (document: Loose) => void, start: Loose = consensus()) {
  const before = structuredClone(start);
  change(start);
  const changes = changesOf(before, start);
  return {
    all: changes.map(({ text }) => text),
    kinds: changes.map(({ kind }) => kind),
    restart: changes.filter(({ restart }) => restart).map(({ text }) => text),
    consequences: consequencesOf(before, start),
  };
}

function consensus(): Loose {
  return JSON.parse(textOf(templates.find(({ name }) => name === 'consensus')!.document));
}

test('nothing is told of what is the same, and of another order of keys', () => {
  assert.deepEqual(changesAfter(() => undefined).all, []);
  assert.deepEqual(changesOf({ a: 1, b: 2 }, { b: 2, a: 1 }), []);
});

test('a field is told with what it was and what it is, defaults included', () => {
  const { all } = changesAfter((document) => {
    document.brains[0].policy.kind = 'priority';
    document.brains[0].dispatch = 'sequential';
    document.brains[0].deadline_seconds = 60;
    document.brains[0].models[1].base_url = 'http://127.0.0.1:9/';
    delete document.brains[0].policy.order;
  });
  assert.deepEqual(all, [
    'brain triage: dispatch fanout → sequential',
    'brain triage: policy consensus → priority',
    'brain triage: policy.order llama3.2, qwen3, gemma3 → none',
    'brain triage: deadline_seconds 600 (the default) → 60',
    'brain triage, model qwen3 (Ollama): base_url the default → http://127.0.0.1:9/',
  ]);
});

test('a model in the place of another one of the same provider is replaced', () => {
  const changes = changesAfter((document) => {
    document.brains[0].models[0].model_id = 'qwen3:8b';
    document.brains[0].models[0].max_retries = 5;
  });
  assert.deepEqual(changes.all, [
    'brain triage: the model llama3.2 (Ollama) is replaced by qwen3:8b (Ollama)',
    'brain triage, model qwen3:8b (Ollama): max_retries 2 (the default) → 5',
  ]);
  const elsewhere = changesAfter((document) => {
    document.brains[0].models[0] = { provider: 'openai', model_id: 'gpt', locality: 'cloud' };
  });
  assert.deepEqual(elsewhere.all, [
    'the model gpt (OpenAI API) is added to brain triage',
    'the model llama3.2 (Ollama) is removed from brain triage',
  ]);
});

test('models are told by what they are, not by where they stand', () => {
  const { all } = changesAfter((document) => {
    document.brains[0].models.splice(0, 1);
    document.brains[0].models.push({ provider: 'openai', model_id: 'gpt', locality: 'cloud' });
  });
  assert.deepEqual(all, [
    'the model gpt (OpenAI API) is added to brain triage',
    'the model llama3.2 (Ollama) is removed from brain triage',
  ]);
  const moved = changesAfter((document) => document.brains[0].models.reverse());
  assert.deepEqual(moved.all, [
    'brain triage: its models are listed as gemma3 (Ollama), qwen3 (Ollama), ' +
      'llama3.2 (Ollama)',
  ]);
});

test('a brain that has only another name is renamed, not removed and added', () => {
  const { all } = changesAfter((document) => {
    document.brains[0].name = 'judge';
    document.routes[0].brain = 'judge';
  });
  assert.deepEqual(all, [
    'brain triage is renamed to judge',
    'the channel webhook is answered by brain judge in the place of triage',
  ]);
});

test('brains, channels and routes come and go in sentences', () => {
  const { all, consequences } = changesAfter((document) => {
    document.channels.push({ type: 'telegram', mode: 'polling', token_env: 'BOT' });
    document.brains.push({
      name: 'friend',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [{ provider: 'local_runtime', model_id: 'm', locality: 'local' }],
    });
    document.routes = [{ channel: 'messenger_a', brain: 'friend' }];
  });
  assert.deepEqual(all, [
    'the channel Telegram is added',
    'brain friend is added: private, asks m (Ollama)',
    'the channel Telegram is answered by brain friend',
    'the channel webhook is not answered by brain triage any more',
  ]);
  assert.deepEqual(consequences, [
    'the webhook stops listening; replies of it that are not delivered wait until it is back',
    'Telegram connects',
  ]);
});

test('what the service reads as before is a note', () => {
  const { all, kinds, consequences } = changesAfter((document) => {
    document._about = 'mine';
    document.brains[0]._try = [{ text: 'hello' }];
    document.brains[0].models[0].provider = 'ollama';
    document.channels[0].webhook.bind = '127.0.0.1:8090';
  });
  assert.deepEqual(all, [
    'channel webhook: webhook.bind is written otherwise',
    'brain triage, model llama3.2 (Ollama): provider is written otherwise',
    'brain triage: its test cases are changed (0 → 1)',
    'the note _about is added',
  ]);
  assert.ok(kinds.every((kind) => kind === 'note'));
  assert.deepEqual(consequences, []);
});

test('an agent, its tools and its grants are told one by one', () => {
  const agent = changesAfter((document) => {
    document.brains[0].agent = { tools: ['time', 'calc'] };
  });
  assert.deepEqual(agent.all, ['brain triage: agent is added: tools time, calc']);
  const start = consensus();
  start.brains[0].agent = {
    tools: ['time', 'calc'],
    system_prompt: 'x'.repeat(70),
    governance: [{ tool: 'time', mode: 'allow' }],
  };
  const { all } = changesAfter((document) => {
    const { agent: it } = document.brains[0];
    it.tools = ['time', 'http_fetch'];
    it.system_prompt = 'y';
    it.governance = [
      { tool: 'time', mode: 'shadow' },
      { tool: 'http_fetch', mode: 'allow', channels: ['webhook'] },
    ];
    it.http_fetch = { allow_hosts: ['example.com'] };
  }, start);
  assert.deepEqual(all, [
    'brain triage: agent.tools: http_fetch is added, calc is removed',
    'brain triage: agent.system_prompt is rewritten (70 → 1 characters)',
    'brain triage: agent.governance: time is changed (shadow), ' +
      'http_fetch on webhook is added (allow)',
    'brain triage: agent.http_fetch is added: allow_hosts example.com',
  ]);
});

test('what belongs to the process is told to need a restart', () => {
  const { restart, all } = changesAfter((document) => {
    document.storage = { path: 'svc.db' };
    document.session = {};
    document.observability = { addr: '127.0.0.1:2113', allowed_hosts: ['svc.example'] };
    document.admin = { token_env: 'ADMIN' };
  });
  assert.deepEqual(restart, [
    'the block storage is added: path svc.db',
    'observability.addr 127.0.0.1:2112 (the default) → 127.0.0.1:2113',
    'the block admin is added: token_env ADMIN',
  ]);
  assert.deepEqual(
    all.filter((text) => !restart.includes(text)),
    ['the block session is added', 'observability.allowed_hosts: svc.example is added'],
  );
});

test('a listener that moves and a connection that begins anew are told', () => {
  const { consequences } = changesAfter((document) => {
    document.channels[0].webhook.bind = '127.0.0.1:9100';
    document.channels[0].webhook.path = '/in';
  });
  assert.deepEqual(consequences, [
    'the webhook listener restarts: it listens on 127.0.0.1:9100 in the place of 127.0.0.1:8090',
  ]);
  const start = consensus();
  start.channels.push({ type: 'messenger_b', mode: 'gateway', token_env: 'BOT' });
  start.routes.push({ channel: 'messenger_b', brain: 'triage' });
  const anew = changesAfter(
    (document) => void (document.channels[1].access = { groups: 'all' }),
    start,
  );
  assert.deepEqual(anew.consequences, ['Discord ends its connection and begins anew']);
  for (const manner of [{ streaming: false }, { gather_ms: 1_500 }, { edits: true }]) {
    const changed = changesAfter(
      (document) => void Object.assign(document.channels[1], manner),
      structuredClone(start),
    );
    assert.deepEqual(changed.consequences, anew.consequences, JSON.stringify(manner));
  }
  const asBefore = { streaming: true, gather_ms: 0, edits: false };
  const same = changesAfter(
    (document) => void Object.assign(document.channels[1], asBefore),
    structuredClone(start),
  );
  assert.deepEqual(same.consequences, []);
});

test('another host on the same port needs a restart', () => {
  const { restart, consequences } = changesAfter((document) => {
    document.channels[0].webhook.bind = '0.0.0.0:8090';
  });
  assert.deepEqual(restart, [
    'channel webhook: webhook.bind 127.0.0.1:8090 (the default) → 0.0.0.0:8090',
  ]);
  assert.deepEqual(consequences, []);
});

test('sentences leave notes out, and a long list is cut', () => {
  const brains = Array.from({ length: 150 }, (_, n) => ({ name: `b${n}` }));
  const sentences = sentencesOf(changesOf({}, { _about: 'mine', brains }));
  assert.equal(sentences[0], 'Brain b0 is added.');
  assert.deepEqual([sentences.length, sentences.at(-1)], [101, '50 more changes.']);
});

const code = { channel: 'telegram', brain: 'code', when: { commands: ['/code'] } };
const team = { channel: 'telegram', brain: 'triage', when: { chats: [-1001], topics: ['7'] } };
const rest = { channel: 'telegram', brain: 'triage' };

function bots(): Loose {
  const channels = [{ type: 'telegram', mode: 'polling', token_env: 'BOT' }];
  return { ...consensus(), channels, routes: [code, team, rest] };
}

test('a second bot is added by its name, and the first is not disturbed', () => {
  const { all, consequences } = changesAfter((document) => {
    document.channels.push({ type: 'telegram', name: 'support', mode: 'polling', token_env: 'B' });
    document.routes.push({ channel: 'support', brain: 'triage' });
  }, bots());
  assert.deepEqual(all, [
    'the channel support (Telegram) is added',
    'the channel support is answered by brain triage',
  ]);
  assert.deepEqual(consequences, ['support connects']);
});

test('a channel with another name is a new one, and loses its memory', () => {
  const { all, consequences } = changesAfter((document) => {
    document.channels[0].name = 'team';
    document.routes = [{ channel: 'team', brain: 'triage' }];
  }, bots());
  assert.deepEqual(all.slice(0, 2), [
    'the channel Telegram has the name team now: it is a new channel, without the memory of the ' +
      'old one',
    'the channel team is answered by brain triage',
  ]);
  assert.deepEqual(consequences, [
    'Telegram disconnects; replies of it that are not delivered wait until it is back',
    'team connects',
  ]);
  const same = changesAfter((document) => (document.channels[0].name = 'messenger_a'), bots());
  assert.deepEqual(same.all, ['channel Telegram: name is written otherwise']);
  assert.deepEqual(same.kinds, ['note']);
});

test('a second webhook comes, moves and goes by its name', () => {
  const hook = { type: 'webhook', name: 'intake', token_env: 'T', webhook: { path: '/intake' } };
  const start = consensus();
  const added = changesAfter((document) => {
    document.channels.push(structuredClone(hook));
    document.routes.push({ channel: 'intake', brain: 'triage' });
  }, start);
  assert.deepEqual(added.consequences, ['the webhook intake listens on 127.0.0.1:8090']);
  const moved = changesAfter(
    (document) => (document.channels[1].webhook = { path: '/intake', bind: '127.0.0.1:9' }),
    start,
  );
  assert.deepEqual(moved.consequences, [
    'the webhook intake listener restarts: it listens on 127.0.0.1:9 in the place of ' +
      '127.0.0.1:8090',
  ]);
  const host = changesAfter(
    (document) => (document.channels[1].webhook = { path: '/intake', bind: ':9' }),
    start,
  );
  assert.deepEqual(host.restart, ['channel intake: webhook.bind 127.0.0.1:9 → :9']);
  const gone = changesAfter((document) => void document.routes.pop(), start);
  assert.match(gone.consequences.join(), /^the webhook intake stops listening; /);
});

test('conditional routes are told by their conditions', () => {
  const added = changesAfter((document) => (document.routes = [code, team, rest]), {
    ...bots(),
    routes: [rest],
  });
  assert.deepEqual(added.all, [
    'the channel Telegram is answered by brain code for command /code',
    'the channel Telegram is answered by brain triage for chat -1001, topic 7',
  ]);
  const removed = changesAfter((document) => void document.routes.shift(), bots());
  assert.deepEqual(removed.all, [
    'the channel Telegram is not answered by brain code for command /code any more',
  ]);
  const moved = changesAfter((document) => {
    document.routes[1] = { ...team, brain: 'code' };
  }, bots());
  assert.deepEqual(moved.all, [
    'the channel Telegram is answered by brain code in the place of triage for chat -1001, topic 7',
  ]);
  const conditions = changesAfter((document) => {
    const when = { commands: ['/review', '/code'], senders: [] };
    document.routes[0] = { ...code, when, description: 'Ask' };
  }, bots());
  assert.deepEqual(conditions.all, [
    'the channel Telegram is answered by brain code for no senders, commands /code or /review ' +
      'in the place of command /code',
    'route of messenger_a for no senders, commands /code or /review: description none → Ask',
  ]);
});

test('the order of the routes of one channel has a meaning, and no other order', () => {
  const { all, kinds } = changesAfter((document) => {
    document.routes = [team, code, rest];
  }, bots());
  assert.deepEqual(all, [
    'the channel Telegram tries its routes in this order: triage for chat -1001, topic 7; code ' +
      'for command /code; triage for every other message',
  ]);
  assert.deepEqual(kinds, ['changed']);
  const other = { channel: 'webhook', brain: 'triage' };
  const start = { ...bots(), routes: [other, code, rest] };
  const moved = changesAfter((document) => (document.routes = [code, rest, other]), start);
  assert.deepEqual(moved.all, ['the order of entries is changed, which means nothing']);
});

test('conditions that are written otherwise are a note', () => {
  const { all, kinds } = changesAfter((document) => {
    document.routes[1] = { ...team, when: { topics: [7], chats: ['-1001', -1001] } };
    document.routes[2] = { ...rest, when: {} };
  }, bots());
  assert.deepEqual(all, [
    'route of messenger_a for chat -1001, topic 7: when is written otherwise',
    'route of messenger_a: when is written otherwise',
  ]);
  assert.ok(kinds.every((kind) => kind === 'note'));
});

test('documents that are no configuration at all are told without a fault', () => {
  const odd = [null, [], 1, 'x', { channels: 3 }, { brains: [null, 7, {}], routes: [[]] }];
  for (const before of odd) for (const after of odd) changesOf(before, after);
  const channels = [{ type: 'webhook', webhook: webhookBlock }];
  assert.deepEqual(
    changesOf(null, { channels }).map(({ text }) => text),
    ['the channel webhook is added'],
  );
});

test('the completions API is told as a block, and where it listens', () => {
  const { all, kinds, consequences } = changesAfter((document) => {
    document.completions = { token_env: 'COMPLETIONS_TOKEN' };
  });
  const added = 'the block completions is added: token_env COMPLETIONS_TOKEN';
  assert.deepEqual([all, kinds], [[added], ['added']]);
  assert.deepEqual(consequences, ['the completions API listens on 127.0.0.1:8092']);
  const offering = (): Loose => {
    return { ...consensus(), completions: { token_env: 'T', brains: ['triage'] } };
  };
  const gone = changesAfter((document) => delete document.completions, offering());
  assert.deepEqual(gone.kinds, ['removed']);
  assert.deepEqual(gone.consequences, ['the completions API stops listening']);
  const moved = changesAfter((document) => {
    document.completions.bind = '127.0.0.1:9';
    delete document.completions.brains;
  }, offering());
  assert.deepEqual(moved.consequences, [
    'the completions API listens on 127.0.0.1:9 in the place of 127.0.0.1:8092',
  ]);
  assert.equal(moved.all.length, 2);
});
