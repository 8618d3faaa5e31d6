import assert from 'node:assert/strict';

import { test } from 'node:test';
import type { FailureKind } from '../../domain/failure.ts';
import { errorIn, failureOf, pictureFailureOf, requestedWaitMs } from './errors.ts';

const json = (body: unknown): string => JSON.stringify(body);

test('the words of an error are found in every known shape', () => {
  const shapes: readonly (readonly [string, string, number | null])[] = [
    [json({ error: { message: 'a', type: 'b', param: null, code: 'c' } }), 'c b a', null],
    [json({ error: 'a' }), 'a', null],
    [json({ code: 'c', error: 'a' }), 'c a', null],
    [json([{ error: { code: 400, message: 'a', status: 'B' } }]), 'a', 400],
    [json({ object: 'error', message: 'a', type: 'b', code: 400 }), 'b a', 400],
    [json({ message: 'a' }), 'a', null],
    [json({ detail: 'a' }), 'a', null],
    [json({ detail: { msg: 'a', type: 'b' } }), 'b a', null],
    [json({ detail: [{ type: 't', loc: ['body', 0, 'b'], msg: 'a' }] }), 't a body b', null],
    [json({ errors: [{ message: 'a' }, { message: 'b' }] }), 'a b', null],
    [json({ error: 'a', error_type: 'b' }), 'b a', null],
    [json({ type: 'error', error: { type: 'b', message: 'a' } }), 'error b a', null],
    [json({ base_resp: { status_code: 1008, status_msg: 'a' } }), 'a', null],
    [json({ error: { code: 429, message: 'a', metadata: { raw: 'b' } } }), 'a b', 429],
    [json({ choices: [{ error: { code: 502, message: 'a' } }] }), 'a', null],
    [json('a'), 'a', null],
    ['a\n', 'a', null],
    ['', '', null],
    ['  ', '', null],
    ['<html>a</html>', '', null],
    ['{', '{', null],
    ['null', '', null],
    ['7', '', null],
    ['{}', '', null],
    ['[]', '', null],
  ];
  for (const [body, words, code] of shapes) {
    assert.deepEqual(errorIn(body), { words, code }, body);
  }
});

test('of a stream only what tells of an error is read, and nothing that the model said', () => {
  const said = 'data: {"choices":[{"delta":{"content":"secret"}}]}\n\n';
  const bodies: readonly (readonly [string, string])[] = [
    [`${said}data: {"error":{"message":"a"}}\n\n`, 'a'],
    [`${said}event: error\ndata: {"message":"a"}\n\n`, 'a'],
    [`${said}event: error\r\ndata: a: b\r\n\r\n`, 'a: b'],
    [`${said}data: error: a\n\n`, 'error: a'],
    [`${said}data: [DONE]\n\n`, ''],
    [said, ''],
    ['{"message":{"content":"secret"},"done":false}\n{"error":"a"}\n', 'a'],
    ['{"message":{"content":"secret"},"done":false}\n{"done":true}\n', ''],
    [`: ping\n\n${said}data: {"error":"a"}\n\n`, 'a'],
    ['upstream error\n{"a": 1}', 'upstream error\n{"a": 1}'],
    ['error: a', 'error: a'],
  ];
  for (const [body, words] of bodies) assert.equal(errorIn(body).words, words, body);
});

test('what a model wrote is in no words of an error', () => {
  const bodies = [
    { choices: [{ message: { content: 'secret' }, error: { message: 'a' } }] },
    { error: { message: 'a', failed_generation: 'secret' } },
    { error: { message: 'a' }, output: 'secret', input: 'secret', prompt: 'secret' },
  ];
  for (const body of bodies) assert.equal(errorIn(json(body)).words, 'a');
});

test('words without end are cut, and depth without end is not gone into', () => {
  assert.equal(errorIn(json({ error: 'a'.repeat(100_000) })).words.length, 4_000);
  assert.equal(errorIn('a'.repeat(100_000)).words.length, 4_000);
  let deep: unknown = 'a';
  for (let depth = 0; depth < 1_000; depth++) deep = { error: deep };
  assert.equal(errorIn(json(deep)).words, '');
  const wide = json({ errors: Array.from({ length: 1_000 }, () => ({ message: 'a' })) });
  assert.equal(errorIn(wide).words, Array.from({ length: 20 }, () => 'a').join(' '));
});

/** The words of real servers; test/fixtures/providers has them with their sources. */
const words: Readonly<Partial<Record<FailureKind, readonly (readonly [number, string])[]>>> = {
  context_overflow: [
    [400, "This model's maximum context length is 4097 tokens. However, your messages resulted in"],
    [400, 'context_length_exceeded'],
    [400, 'Input tokens exceed the configured limit of 272000 tokens.'],
    [400, 'prompt is too long: 208310 tokens > 200000 maximum'],
    [400, 'input length and `max_tokens` exceed context limit: 179413 + 32768 > 200000'],
    [400, 'Input is too long for requested model.'],
    [400, 'prompt tokens (400007) exceed model maximum (278528) for openai.gpt-5.5'],
    [
      400,
      'The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).',
    ],
    [400, 'The input token count exceeds the maximum number of tokens allowed (1048576).'],
    [400, 'Prompt contains 75021 tokens, too large for model with 32768 maximum context length'],
    [400, "This model's maximum prompt length is 131072 but the request contains 136973 tokens."],
    [400, 'Your request exceeded model token limit: 262144 (requested: 269030)'],
    [400, 'Invalid request: model max length exceeded, max length:8192'],
    [400, 'Please reduce the length of the messages or completion. Current length is 42328 while'],
    [400, 'prompt token count of 138898 exceeds the limit of 64000'],
    [413, 'Request body too large for gpt-4.1 model. Max size: 8000 tokens.'],
    [413, 'Request Entity Too Large'],
    [429, 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389.'],
    [
      400,
      'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 6003',
    ],
    [
      422,
      '`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8200 `inputs` tokens and 512',
    ],
    [422, 'Input validation error: `inputs` must have less than 1024 tokens. Given: 1872'],
    [400, 'The prompt is too long: 140000, model maximum context length: 131071'],
    [400, 'InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]'],
    [400, '1261 Prompt exceeds max length'],
    [500, 'invalid params, context window exceeds limit (2013)'],
    [400, 'The decoder prompt (length 10127) is longer than the maximum model length of 8192.'],
    [400, "The input (61709 tokens) is longer than the model's context length (40960 tokens)."],
    [400, 'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).'],
    [400, 'exceed_context_size_error'],
    [500, 'the request exceeds the available context size. try increasing the context size'],
    [
      500,
      'rpc error: code = Internal desc = request (20652 tokens) exceeds the available context size',
    ],
    [500, 'Requested tokens (2138) exceed context window of 2048'],
    [
      400,
      'The number of tokens to keep from the initial prompt is greater than the context length',
    ],
    [400, 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)'],
    [400, 'the model is loaded with context length of only 32768 tokens, which is not enough'],
    [400, 'the prompt is longer than the context length currently available to the model'],
    [500, 'prompt too long; exceeded max context length by 4096 tokens'],
    [400, 'Prompt has 300,000 tokens, but the configured context size is 131,072 tokens'],
    [400, 'Total tokens of image and text exceed max message tokens'],
    [400, 'token limit exceeded'],
    [400, 'max_tokens must be at least 1, got -7584. (parameter=max_tokens, value=-7584)'],
    [400, 'Token indices sequence length is longer than the specified maximum sequence length'],
    [400, 'token_quantity_exceeded input token count is above the limit'],
    [400, '10907 token数量超过上限。对话历史+问题的字数太多，需要精简输入'],
    [500, 'api_error no user query found in messages'],
    [400, "string_above_max_length Invalid 'messages[3].content': string too long. Expected a"],
  ],
  no_credit: [
    [429, 'insufficient_quota You exceeded your current quota'],
    [402, ''],
    [402, 'Insufficient Balance'],
    [400, 'Your credit balance is too low to access the Anthropic API.'],
    [402, 'This request requires more credits, or fewer max_tokens.'],
    [402, 'Credit limit exceeded. Please navigate to the settings to add credit.'],
    [400, 'Arrearage Access denied, please make sure your account is in good standing.'],
    [429, '1113 余额不足或无可用资源包,请充值。'],
    [429, 'exceeded_current_quota_error Your account is suspended, please check your plan'],
    [429, 'Your team has either used all available credits or reached its monthly spending limit.'],
    [403, 'Your team has either used all available credits or reached its monthly spending limit.'],
    [403, "Your newly created team doesn't have any credits or licenses yet."],
    [403, 'You have run out of credits or need a Grok subscription.'],
    [500, 'api_error insufficient balance (1008)'],
    [429, 'insufficient_balance_error insufficient balance (1008)'],
  ],
  filtered: [
    [400, 'content_filter The response was filtered due to the prompt triggering'],
    [400, 'content_policy_violation'],
    [400, 'data_inspection_failed Input data may contain inappropriate content.'],
    [400, '1301 系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入'],
    [400, 'Content Exists Risk'],
  ],
  tools_unsupported: [
    [400, 'registry.ollama.ai/library/qwen3:8b does not support tools'],
    [404, 'No endpoints found that support tool use. Try disabling "calc".'],
    [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    [500, 'server_error tools param requires --jinja flag'],
  ],
  tool_call_malformed: [
    [400, "tool_use_failed Failed to call a function. See 'failed_generation' for more details."],
    [400, 'tool_use_failed tool call validation failed: parameters for tool calc did not match'],
    [500, 'error parsing tool call: raw=\'{"a": 1}]\', err=invalid character'],
  ],
  rate_limited: [
    [429, ''],
    [429, 'rate_limit_exceeded Rate limit reached, please try again in 4.77s.'],
    // A limit per minute.
    [429, 'You exceeded your current quota, please check your plan and billing details.'],
    [429, 'engine_overloaded_error The engine is currently overloaded, please try again later'],
    [429, 'overloaded Model is overloaded'],
  ],
  overloaded: [
    [503, 'unavailable_error Loading model'],
    [503, 'service_unavailable Server is busy; please try again later.'],
    [529, 'overloaded_error Overloaded'],
    [498, ''],
    [408, ''],
  ],
  unauthorized: [
    [401, 'invalid_api_key Incorrect API key provided'],
    [403, 'Country, region, or territory not supported'],
  ],
  not_found: [[404, 'model_not_found The model `a` does not exist']],
  rejected: [
    [400, 'wrong_api_format'],
    [422, 'Extra inputs are not permitted'],
    [400, ''],
    // Less history does not make the tools shorter.
    [400, "string_above_max_length Invalid 'tools[22].function.description': string too long."],
    [400, 'max_tokens must be at least 1, got 0.'],
  ],
  server_error: [
    [500, 'Internal Server Error'],
    [502, 'Provider disconnected'],
  ],
  redirected: [[307, '']],
};

for (const [kind, said] of Object.entries(words)) {
  test(`by its words an error is ${kind}`, () => {
    for (const [status, text] of said) {
      assert.equal(failureOf(status, text, null).kind, kind, `${status} ${text}`);
    }
  });
}

test("a model's words within an error take nothing away from it", () => {
  const echoes = [
    'server_error the model said {"a": "this does not support tools"}',
    'server_error the model said "insufficient balance"',
    "server_error the model said 'the content_filter'",
    'server_error the model said `does not support tools`\ninsufficient balance',
  ];
  for (const text of echoes) assert.equal(failureOf(500, text, null).kind, 'server_error', text);
});

test('what a person wrote, and a server repeats, shuts the model to nobody', () => {
  for (const text of ['payment required', 'incorrect api key', 'model_not_found']) {
    const errorText = `invalid_request_error bad input: "what does ${text} mean?"`;
    assert.equal(failureOf(400, errorText, null).kind, 'rejected', text);
    assert.notEqual(failureOf(400, `${text}: no`, null).kind, 'rejected', text);
  }
});

test('an error that speaks of pictures says whether the model takes none, or not this one', () => {
  assert.equal(
    pictureFailureOf('rejected', 'does not support image input'),
    'pictures_unsupported',
  );
  assert.equal(pictureFailureOf('server_error', 'mmproj'), 'pictures_unsupported');
  assert.equal(pictureFailureOf('rejected', 'invalid image format'), 'picture_refused');
  assert.equal(pictureFailureOf('rejected', 'invalid name'), null);
  assert.equal(pictureFailureOf('context_overflow', 'image input is too long'), null);
});

for (const [how, headers, errorText, ms] of [
  ['in milliseconds (Azure, for provisioned models)', { 'retry-after-ms': '1250' }, '', 1_250],
  ['under another name (kernel-memory#795)', { 'x-ms-retry-after-ms': '900' }, '', 900],
  ['in seconds', { 'retry-after': '7' }, 'Please try again in 2s.', 7_000],
  ['to a proxy (litellm#21553)', { 'llm_provider-retry-after': '9' }, '', 9_000],
  ['in words (Groq)', {}, 'Requested 4351. Please try again in 5.289s. Visit', 5_289],
  ['in words (OpenAI)', {}, 'Please try again in 120ms.', 120],
  ['in words (Azure)', {}, 'Please retry after 12 seconds.', 12_000],
  ['in words (Gemini)', {}, 'Please retry in 18.934310785s.', 18_934.310785],
  ['for longer than svc waits', {}, 'Please try again in 7m12.5s.', 30_000],
  ['in no way', {}, 'Try again in a while.', null],
] as const) {
  test(`how long a provider asks us to wait may be told ${how}`, () => {
    assert.equal(requestedWaitMs(headers, errorText, 0), ms);
  });
}
