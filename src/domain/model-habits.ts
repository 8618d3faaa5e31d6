/**
 * The habits of models and their providers, as data: one row for each habit. For a new habit add a
 * row here and a recorded exchange in `test/fixtures/providers/`.
 *
 * The names at a row say which servers have the habit, by their documents or by public reports.
 */

/** The marks around a model's thinking. `open` is the source of a regular expression. */
export type ThinkingMark = { readonly open: string; readonly close: string };

const tag = (name: string): ThinkingMark => {
  return { open: `<${name}(?:\\s[^<>]{0,200})?>`, close: `</${name}>` };
};

export const thinkingMarks: readonly ThinkingMark[] = [
  // DeepSeek R1, Qwen 3, QwQ, GLM; with attributes: ollama#11319.
  tag('think'),
  tag('thinking'),
  tag('thought'),
  tag('reasoning'),
  // Seed-OSS
  tag('seed:think'),
  // Kimi-VL
  { open: '◁think▷', close: '◁/think▷' },
  // Magistral
  { open: '\\[THINK\\]', close: '[/THINK]' },
  // OpenThinker, Sky-T1
  { open: '<\\|begin_of_thought\\|>', close: '<|end_of_thought|>' },
  // Command A Reasoning
  { open: '<\\|START_THINKING\\|>', close: '<|END_THINKING|>' },
  // Gemma 4
  { open: '<\\|channel>thought', close: '<channel|>' },
];

/** Marks around the answer behind the thinking. */
export const answerMarks: readonly string[] = [
  '<|begin_of_solution|>',
  '<|end_of_solution|>',
  '<|START_RESPONSE|>',
  '<|END_RESPONSE|>',
];

/**
 * Names of models whose chat template may open the thinking in the prompt. Their answer then holds
 * only the closing mark. svc shows nothing before that mark, or before the answer is whole.
 */
export const opensInPrompt = /\br1\b|qwq|thinking|reason|magistral|deephermes|glm-z1|-think\b/i;

/**
 * The marks around calls that a model writes as text. A block without its closing mark reaches to
 * the end of the text, since the closing mark is a stop word of many templates.
 */
export type CallMark = {
  readonly open: string;
  readonly close: string;
  /** The opening mark is a part of the call itself. */
  readonly isCall?: true;
};

export const callMarks: readonly CallMark[] = [
  // Hermes, Qwen, GLM
  { open: '<tool_call>', close: '</tool_call>' },
  { open: '<tool_calls>', close: '</tool_calls>' },
  { open: '<function_call>', close: '</function_call>' },
  { open: '<|tool_call|>', close: '<|/tool_call|>' },
  // Claude
  { open: '<function_calls>', close: '</function_calls>' },
  // MiniMax M2
  { open: '<minimax:tool_call>', close: '</minimax:tool_call>' },
  // Llama 3
  { open: '<|python_tag|>', close: '<|eom_id|>' },
  { open: '<function=', close: '</function>', isCall: true },
  // LFM 2
  { open: '<|tool_call_start|>', close: '<|tool_call_end|>' },
  // Mistral
  { open: '[TOOL_CALLS]', close: '</s>' },
  // DeepSeek V3, R1
  { open: '<｜tool▁calls▁begin｜>', close: '<｜tool▁calls▁end｜>' },
  // DeepSeek V3.2, V4; the outer marks may be missing: sglang#40236
  { open: '<｜DSML｜function_calls>', close: '</｜DSML｜function_calls>' },
  { open: '<｜DSML｜tool_calls>', close: '</｜DSML｜tool_calls>' },
  { open: '<｜DSML｜calls>', close: '</｜DSML｜calls>' },
  { open: '<｜DSML｜invoke name=', close: '</｜DSML｜invoke>', isCall: true },
  // Kimi K2
  { open: '<|tool_calls_section_begin|>', close: '<|tool_calls_section_end|>' },
];

/**
 * Fields of an assistant message that svc writes itself. All others go back to the model that sent
 * them: DeepSeek and Kimi want `reasoning_content`, routers `reasoning_details`, Gemini
 * `extra_content`.
 */
export const ownLineFields: ReadonlySet<string> = new Set([
  'role',
  'content',
  'tool_calls',
  'function_call',
  'refusal',
  'annotations',
  'audio',
  'images',
  'name',
  'prefix',
  'token_ids',
]);
/** The same fields of one call, and of its function. */
export const ownCallFields: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function']);
export const ownFunctionFields: ReadonlySet<string> = new Set(['name', 'arguments', 'index']);

/**
 * The error demands the thinking of an earlier message; an empty text is enough: DeepSeek, Kimi.
 */
export const wantsThinkingBack = anyOf(
  '(?:missing|must (?:be passed back|include|contain)|required)[^]{0,80}reasoning_content',
  'reasoning_content[^]{0,80}(?:is missing|must be|required)',
);

/**
 * The places where servers report how many tokens of the prompt came from their cache. Each row is
 * a path from the root of the answer. OpenRouter's `cache_discount` is an amount of money, so it is
 * not here.
 */
export const cachedTokenFields: readonly (readonly string[])[] = [
  // OpenAI, xAI, Groq, Mistral, Gemini (ai.google.dev/gemini-api/docs/openai), OpenRouter, LiteLLM,
  // Fireworks, DashScope, Zhipu; llama.cpp's server; vLLM with `--enable-prompt-tokens-details`
  // (vllm#18149), SGLang with `--enable-cache-report` (gpustack#5189)
  ['usage', 'prompt_tokens_details', 'cached_tokens'],
  // DeepSeek: api-docs.deepseek.com/guides/kv_cache
  ['usage', 'prompt_cache_hit_tokens'],
  // Kimi, beside the first (bike4mind#1089)
  ['usage', 'cached_tokens'],
  // Mistral has reported it in three places (vercel/ai#14382)
  ['usage', 'num_cached_tokens'],
  ['usage', 'prompt_token_details', 'cached_tokens'],
  // Gateways that mix in the names of OpenAI's other API
  ['usage', 'input_tokens_details', 'cached_tokens'],
  // Gateways to Anthropic: see also `besidePrompt`
  ['usage', 'cache_read_input_tokens'],
  // llama.cpp's server (llama.cpp#15827). Its `tokens_cached` counts the tokens that the cache
  // holds afterwards.
  ['timings', 'cache_n'],
  // Ollama: `PromptEvalCachedCount` of its api/types.go (stdapi.ai#252). `prompt_eval_count`
  // includes them. Versions before 0.2 omit `prompt_eval_count` for a cached prompt (ollama#2068).
  // Some versions of 0.30 count only the tokens that they read anew (ollama#16428).
  ['prompt_eval_cached_count'],
];

/**
 * Tokens that Anthropic's API counts separately from those of the prompt. LiteLLM and most other
 * gateways add them to `prompt_tokens`, but some do not (openinference#1429).
 */
export const besidePrompt = ['cache_read_input_tokens', 'cache_creation_input_tokens'] as const;

/** Why an answer ended, if not with `stop`. `cut`: its text is not complete. */
export type EndedBy = 'cut' | 'filtered' | 'failed' | 'no_room' | 'bad_call';

export function endedBy(reason: string): EndedBy | null {
  return endings.find(([words]) => words.test(reason))?.[1] ?? null;
}

const endings: readonly (readonly [RegExp, EndedBy])[] = [
  // `model_length`: Mistral; `model_context…`: Zhipu; `max_tokens`: a gateway to another API.
  [/^(?:length|max_?tokens|max_output_tokens|model_length|context_length)$/i, 'cut'],
  [/^model_context_window_exceeded$/i, 'cut'],
  [/malformed_function_call|malformed_tool/i, 'bad_call'],
  [/content_?filter|safety|recitation|sensitive|blocklist|prohibited|^refusal$/i, 'filtered'],
  // DeepSeek; Portkey, which ends a stream with the error type of Anthropic
  [/insufficient_system_resource|overloaded/i, 'no_room'],
  // OpenRouter, vLLM, Portkey
  [/^(?:(?:\w{1,60}_)?error|abort(?:ed)?|cancel(?:led)?)$/i, 'failed'],
];

/**
 * The request's limit for the answer is above the model's own limit. The group is the model's limit
 * in tokens: OpenAI, Doubao (openclaude#331), Anthropic (litellm#15715).
 */
export const limitTooLarge =
  /max_(?:completion_)?tokens\b[^]{0,160}?(?:supports at most|a value <=|: \d+ >) (\d{1,9})\b/i;

/** Error texts, by their meaning. Upper and lower case are the same. */
export const errorWords = {
  /** The request is longer than the model can read. */
  tooLong: anyOf(
    // OpenAI, vLLM, llama.cpp, LM Studio, OpenRouter, MiniMax, Cohere
    'context[ _-]?(?:length|size|window)',
    // vLLM and NVIDIA subtract the prompt from the room for the answer: vllm#36789
    'max_(?:completion_)?tokens must be at least 1, got -\\d',
    'maximum (?:context|model length|prompt length|input length|allowed length)',
    // Anthropic, Bedrock, ERNIE
    '(?:prompt|inputs?|messages?|request|tokens) (?:is |are )?too (?:long|large)',
    '(?:conversation|history) (?:is )?too (?:long|large)',
    // Groq
    'reduce (?:the|your) (?:length|size|message|prompt|input)',
    // Gemini
    'input token count\\b[^]{0,60}exceeds',
    // Mistral
    'too large for model with \\d',
    // xAI
    'maximum prompt length',
    // Copilot
    'token count of \\d+ exceeds',
    'prompt_tokens_exceeded',
    // Kimi
    'exceeded model token limit',
    'max length exceeded',
    // SGLang, Bedrock
    '(?:input|prompt) (?:length|tokens?)\\b[^]{0,60}exceeds?',
    'longer than the (?:specified )?(?:model|maximum)',
    // LM Studio
    'n_keep\\b[^]{0,20}n_ctx',
    // Text Generation Inference
    'inputs\\W{1,3}must have less than \\d',
    'inputs\\W{1,3}tokens\\W{1,3}\\+\\W{1,3}max_new_tokens',
    // DashScope
    'range of input length should be',
    // Zhipu: code 1261
    'exceeds? max(?:imum)? length',
    '超长|过长',
    // Spark: code 10907
    'token数量超过',
    // watsonx
    'token_quantity_exceeded',
    // Ollama's `/v1` cut off the person's message: ollama#18107
    'no user query found in messages',
    // Doubao
    'exceed max message tokens',
    // OpenAI, about a text. It says the same about a tool: cherry-studio#3698.
    'messages\\[\\d{1,4}\\]\\.content[^]{0,40}string too long',
    'token limit exceeded',
    'too many (?:input |prompt )?tokens',
  ),
  /** The account has no credit or quota left, so another try does not help. */
  noCredit: anyOf(
    // OpenAI. Gemini also says "exceeded your current quota" about a limit per minute.
    'insufficient[_ ]quota',
    'billing_(?:hard_limit|not_active)',
    // Anthropic
    'credit balance is too low',
    // DeepSeek, Kimi, Zhipu
    'insufficient (?:account )?(?:balance|credits?|funds)',
    'exceeded_current_quota_error',
    '余额不足|欠费',
    // OpenRouter, Together, xAI
    '(?:not enough|requires more|out of|no|any|add more|purchase more) credits',
    'credit limit exceeded',
    'spending limit',
    // DashScope
    '\\barrearage\\b|in arrears',
    'payment required',
  ),
  /** The server refuses the key, but its status does not say so: LiteLLM without a database. */
  badKey: anyOf('no_db_connection', 'invalid[_ ]api[_ ]key', 'incorrect api key'),
  /** The server has no such model, but its status does not say so: LiteLLM, Groq. */
  noModel: anyOf('invalid model name passed', 'model_not_found', 'model_decommissioned'),
  /** A filter of the provider refuses the request. */
  filtered: anyOf(
    // Azure, OpenAI, Alibaba, Zhipu
    'content[_ ]?filter',
    'content management policy',
    'content_policy_violation',
    'data_?inspection_?failed',
    'flagged by (?:our )?moderation',
    'sensitive content',
    '敏感内容',
    // DeepSeek
    'content exists risk',
  ),
  /** The model cannot call tools, or cannot call them at this address. */
  noTools: anyOf(
    // Ollama
    'does not support (?:tools?|function|tool calling)',
    'tools? (?:are|is|calling is|use is) not (?:supported|enabled|available)',
    'function calling is not (?:supported|enabled|available)',
    // OpenRouter
    'support tool use',
    // vLLM
    'tool choice requires',
    // llama.cpp
    'tools param requires',
    'unsupported (?:parameter|value)\\W{1,4}tools',
  ),
  /** The chat template takes no system message. */
  noSystem: anyOf(
    // Gemma 2 and others on vLLM, SGLang, Text Generation Inference
    'system (?:role|messages?|prompts?) (?:is |are )?not supported',
    // Ministral on llama.cpp
    'roles are supported, got system',
    // Mistral 7B and others: only without the words "after the optional system message"
    '(?<!optional system message, )conversation roles must alternate',
    // o1-mini
    'role\\W{1,3} does not support \\W?system',
    // Gemma 3 at Google
    'developer instruction is not enabled',
  ),
  /** An assistant message with calls needs a text, which may be empty. */
  noNull: anyOf(
    // Ollama's `/v1`
    'message content type: <nil>',
    // LM Studio
    "'content' field must be a string",
    // OpenAI, and gateways
    'expected a string, got null',
    '\\bcontent\\b[^]{0,40}(?:was|got|is) null',
  ),
  /** The server answers only with a stream: Qwen's models on DashScope. */
  onlyStreams: anyOf('only supports? stream', 'for non-streaming calls', '才能进行非流式调用'),
  /** The server refuses `think`, even `false`: Ollama 0.12.4 (ollama#12555). */
  noThinking: anyOf('does not support thinking', 'think value [^]{0,60}not supported'),
  /** Ids of calls must have one format (Mistral's models on any server), or a limited length. */
  badId: anyOf(
    'tool call id was [^]{0,200}with a length of',
    // OpenAI behind a router that generates the ids: vercel/ai#8132, opencode#12653
    'tool_calls?(?:\\[\\d{1,4}\\]\\.id|_id)\\b[^]{0,10}string too long',
  ),
  /** There is no API at this path: LM Studio says so with status 200 (lmstudio-bug-tracker#618). */
  noPath: anyOf('^unexpected endpoint or method'),
  /** The model is not running, but the status is 400: LM Studio (crush#2546). */
  notRunning: anyOf(
    '^(?:error: )?failed to load model',
    '^(?:error: )?(?:the )?model (?:is |was |has )?(?:unloaded|crashed)',
  ),
  /** The server refuses a call that its own model wrote: Groq, Ollama. */
  badCall: anyOf('tool_use_failed', 'failed to call a function', 'error parsing tool call'),
  /**
   * The model cannot see pictures: Ollama, llama.cpp, LM Studio, vLLM, OpenAI, DeepSeek, routers.
   */
  noSight: anyOf(
    'mmproj',
    'missing data required for image',
    'image input',
    'only supported by certain models',
    "(?:not|n't) (?:support|accept|take|process) (?:any )?(?:image|vision|multi-?modal)",
    'image(?:_url|s)?(?: content| parts?)? (?:is|are) not (?:supported|enabled|available)',
    '(?:not an?|no) (?:vision|multi-?modal)',
    '(?:vision|multi-?modal)[\\w -]{0,40} not (?:supported|enabled|available|loaded)',
    'at most 0 image',
    'unknown (?:variant|part type)\\W{1,4}image_url',
    'invalid (?:value|type)\\W{1,4}image_url',
  ),
} as const;

/** After these words, an error quotes text that the model wrote. */
export const quotesAnswer = anyOf(
  // llama.cpp#23838
  'failed to parse input at pos \\d{1,9}',
  'failed to parse tool call arguments as json',
  // Ollama (ollama#11781)
  'error parsing tool call',
);

/**
 * Endings of a `base_url` that svc removes: a path that svc adds itself, or a path of another API.
 */
export const endingsOfBase: Readonly<Record<'local_runtime' | 'hosted_runtime', RegExp>> = {
  local_runtime: /\/(?:v1\/chat\/completions|v1|api\/(?:chat|generate|tags|show)|api)$/i,
  hosted_runtime: /\/(?:chat\/completions|completions|models|responses)$/i,
};

function anyOf(...sources: readonly string[]): RegExp {
  return new RegExp(sources.join('|'), 'i');
}
