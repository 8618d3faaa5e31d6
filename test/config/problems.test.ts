import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemCodes } from '../../src/config/problems.ts';
import { validateText } from '../../src/config/validate.ts';
import { approvalCases } from './cases-approvals.ts';
import { completionsCases, offering } from './cases-completions.ts';
import { fieldCases, textCases } from './cases-fields.ts';
import { budgetCases } from './cases-budget.ts';
import { goodServers, mcpCases } from './cases-mcp.ts';
import { meaningCases } from './cases-meaning.ts';
import { routeCases, several } from './cases-routes.ts';
import { speechCases } from './cases-speech.ts';
import { agent, change, plain, unmark, type Case } from './cases.ts';

const cases = [
  ...textCases,
  ...fieldCases,
  ...meaningCases,
  ...approvalCases,
  ...budgetCases,
  ...mcpCases,
  ...speechCases,
  ...routeCases,
  ...completionsCases,
];
const codesOf = (text: string): readonly string[] =>
  validateText(text).problems.map(({ code }) => code);

test('the files that the cases spoil have no problem themselves', () => {
  for (const text of [plain, agent, several, offering, ...goodServers]) {
    assert.equal(validateText(text).kind, 'valid');
    assert.deepEqual(codesOf(text), []);
  }
});

for (const { title, text: marked, code, path, also } of cases) {
  test(`${code} is found at its place: ${title}`, () => {
    const { text, line, column } = unmark(marked);
    const { kind, problems } = validateText(text);
    const first = problems.find((problem) => problem.code === code && problem.path === path);
    assert.ok(first, `not among ${JSON.stringify(problems, null, 1)}`);
    assert.equal(`${first.line}:${first.column}`, `${line}:${column}`);
    assert.equal(first.severity, problemCodes[code].severity);
    assert.match(first.message, /^\S.*[^.]$/, 'a message is a clause without its full stop');
    assert.match(first.remedy, /^[A-Z`].*\S$/, 'a remedy is a sentence');
    const others = problems.filter((problem) => problem !== first);
    assert.deepEqual(others.map((problem) => problem.code).sort(), [...(also ?? [])].sort());
    const isWrong = problems.some(({ severity }) => severity === 'error');
    assert.equal(kind, isWrong ? 'invalid' : 'valid');
  });
}

test('every code has a case here, or comes from elsewhere or their number', () => {
  const elsewhere =
    'file_missing file_unreadable file_too_large file_not_utf8 file_writable_by_others ' +
    'config_elsewhere config_behind folder_elsewhere ' +
    'database_readable_by_others skill_faulty skills_missing read_root_missing ' +
    'read_root_wide read_root_mount private_not_shown ' +
    'secret_missing secret_unreadable secret_unfit secret_file_unused admin_token_unset ' +
    'short_token secret_trimmed flag_unused flag_unclear too_many_problems ' +
    'config_elsewhere config_behind folder_elsewhere ' +
    'mcp_unpinned mcp_pins_unreadable mcp_command mcp_down mcp_unannounced';
  const covered = new Set<string>([
    ...elsewhere.split(' '),
    ...cases.map(({ code }: Case) => code),
  ]);
  assert.deepEqual(
    Object.keys(problemCodes).filter((code) => !covered.has(code)),
    [],
  );
  assert.ok(cases.length >= 80, `${cases.length} cases`);
});

test('all problems of all blocks come at once, by place', () => {
  let text = change(plain, '"HOOK_SECRET"', '"sk-secret"');
  text = change(text, '"private"', '"secret"');
  text = change(text, '"llama3", "locality": "local"', '"llama3", "locality": "lokal"');
  text = change(text, '"brain": "main" }]', '"brain": "other" }]');
  text = change(text, '"04:00"', '"4"');
  text = change(text, '"recall_max": 10', '"recall_max": 99');
  text = change(text, '"addr": "127.0.0.1:2112"', '"port": 2112');
  text = change(text, '"storage": { "path": "svc.db" }', '"storage": { "path": 1 }');
  const { problems } = validateText(text);
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error').map(({ path }) => path),
    [
      'channels[0].token_env',
      'brains[0].sensitivity',
      'brains[0].models[0].locality',
      'routes[0].brain',
      'storage.path',
      'session.daily_at',
      'session.recall_max',
      'observability.port',
    ],
  );
  const lines = problems.map(({ line }) => line);
  assert.deepEqual(
    lines,
    lines.toSorted((a, b) => a - b),
  );
});

test('a model that cannot be read does not hide what is wrong with the agent', () => {
  let text = change(agent, '"model_id": "llama3"', '"model_id": 3');
  text = change(text, '"read_file": { "root": "files" },', '');
  assert.ok(codesOf(text).includes('cage_missing'));
});

test('a key that is nearly right is named', () => {
  const pairs = [
    ['"bind"', '"bnid"', 'bind'],
    ['"outbound_url"', '"outboundUrl"', 'outbound_url'],
    ['"session"', '"sesion"', 'session'],
    ['"daily_at"', '"dailyat"', 'daily_at'],
    ['"dispatch"', '"dispach"', 'dispatch'],
  ] as const;
  for (const [right, wrong, named] of pairs) {
    const { problems } = validateText(change(plain, right, wrong));
    const problem = problems.find(({ code }) => code === 'unknown_key');
    assert.match(problem?.remedy ?? '', new RegExp(`Did you mean ${named}\\?`));
  }
});

test('a misspelt condition is told of once', () => {
  const { problems } = validateText(change(several, '"senders": ["ada"], "chats"', '"chat"'));
  assert.deepEqual(
    problems.map(({ code, path }) => [code, path]),
    [['unknown_key', 'routes[5].when.chat']],
  );
});

test('a number is no name of a channel, and a type is none where its channels have names', () => {
  const number = validateText(change(several, '"name": "intake"', '"name": 5')).problems[0]!;
  assert.equal(number.remedy, 'Write a text in double quotes.');
  const named = change(
    several,
    '{ "type": "telegram", "mode"',
    '{ "type": "telegram", "name": "home", "mode"',
  );
  const unknown = validateText(named).problems.find(({ code }) => code === 'unknown_channel');
  const words =
    'Write the name: home, support. Or take a new name away again: by it the channel ' +
    'loses its memory.';
  assert.equal(unknown?.remedy, words);
});

test('a chat with its topic, as lists of conversations have it, is taken apart', () => {
  const { problems } = validateText(change(several, '"chats": [-1001]', '"chats": ["-1001:7"]'));
  const remedy = 'Write the number before the colon, and the one behind it in "topics".';
  assert.deepEqual(
    problems.map((problem) => problem.remedy),
    [remedy],
  );
});

test('what may be a secret is never repeated', () => {
  const secret = 's3cr3t-value';
  const edits = [
    ['"HOOK_SECRET"', `"${secret}"`],
    ['"HOOK_SECRET"', `{ "x": "${secret}" }`],
    ['"token_env"', `"token": "${secret}", "_t"`],
    ['"type": "webhook"', `"type": "${secret}"`],
    ['"http://a.test/out"', `"http://me:${secret}@a.test"`],
    ['"http://a.test/out"', `"${secret}"`],
    ['"127.0.0.1:8090"', `"${secret}"`],
    ['"HOOK_SECRET"', `"${secret}`],
  ] as const;
  for (const [from, to] of edits) {
    const { kind, problems } = validateText(change(plain, from, to));
    assert.equal(kind, 'invalid');
    assert.ok(!JSON.stringify(problems).includes(secret), to);
  }
});
