/**
 * What models and their providers do differently, as data: one row for each habit. To teach svc
 * another one, add a row here and a recorded exchange in `test/fixtures/providers/`.
 *
 * The names behind a row say who does so, by their documents or by public reports.
 */

/** What stands around a model's thinking. `open` is the source of a regular expression. */
export type ThinkingMark = { readonly open: string; readonly close: string };

const tag = (name: string): ThinkingMark => {
  return { open: `<${name}(?:\\s[^<>]{0,200})?>`, close: `</${name}>` };
};

export const thinkingMarks: readonly ThinkingMark[] = [
  // DeepSeek R1, Qwen 3, QwQ, GLM; with attributes: ollama#11319. Templates may write the opening.
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

/** What some of them write around the answer that follows. */
export const answerMarks: readonly string[] = [
  '<|begin_of_solution|>',
  '<|end_of_solution|>',
  '<|START_RESPONSE|>',
  '<|END_RESPONSE|>',
];

/**
 * Models whose chat template opens the thinking in the prompt, so that the answer holds its end
 * alone. Nothing of their text is shown before that end, or before the answer is whole.
 */
export const opensInPrompt = /\br1\b|qwq|thinking|reason|magistral|deephermes|glm-z1|-think\b/i;

/**
 * What stands around calls that a model writes as a text. Without its end a block reaches to the
 * end of the text: the end is a stop word of many templates.
 */
export type CallMark = {
  readonly open: string;
  readonly close: string;
  /** The mark is the beginning of the call itself, not of something around it. */
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
  // DeepSeek V3.2, V4; calls may lack what stands around them: sglang#40236
  { open: '<｜DSML｜function_calls>', close: '</｜DSML｜function_calls>' },
  { open: '<｜DSML｜tool_calls>', close: '</｜DSML｜tool_calls>' },
  { open: '<｜DSML｜calls>', close: '</｜DSML｜calls>' },
  { open: '<｜DSML｜invoke name=', close: '</｜DSML｜invoke>', isCall: true },
  // Kimi K2
  { open: '<|tool_calls_section_begin|>', close: '<|tool_calls_section_end|>' },
];

/**
 * Fields of an assistant line that are the wire's own. All others go back with the line to the
 * model that wrote them: DeepSeek and Kimi want `reasoning_content`, routers `reasoning_details`,
 * Gemini `extra_content`.
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
/** The same of one call, and of the function in it. */
export const ownCallFields: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function']);
export const ownFunctionFields: ReadonlySet<string> = new Set(['name', 'arguments', 'index']);

/** It asks for an assistant line's thinking, which an empty one stands for: DeepSeek, Kimi. */
export const wantsThinkingBack = anyOf(
  '(?:missing|must (?:be passed back|include|contain)|required)[^]{0,80}reasoning_content',
  'reasoning_content[^]{0,80}(?:is missing|must be|required)',
);

/** Why an answer ended, where that is no `stop`. `cut`: its text is not whole. */
export type EndedBy = 'cut' | 'filtered' | 'failed' | 'no_room' | 'bad_call';

export function endedBy(reason: string): EndedBy | null {
  return endings.find(([words]) => words.test(reason))?.[1] ?? null;
}

const endings: readonly (readonly [RegExp, EndedBy])[] = [
  // `model_length`: Mistral; `model_context…`: Zhipu; `max_tokens`: passed on from another API.
  [/^(?:length|max_?tokens|max_output_tokens|model_length|context_length)$/i, 'cut'],
  [/^model_context_window_exceeded$/i, 'cut'],
  [/malformed_function_call|malformed_tool/i, 'bad_call'],
  [/content_?filter|safety|recitation|sensitive|blocklist|prohibited|^refusal$/i, 'filtered'],
  // DeepSeek
  [/insufficient_system_resource|engine_overloaded/i, 'no_room'],
  // OpenRouter, vLLM
  [/^(?:error|network_error|abort(?:ed)?|cancel(?:led)?)$/i, 'failed'],
];

/**
 * An answer was allowed to be longer than the model's answers may be; the group is what they may
 * be, in tokens: OpenAI, Doubao (openclaude#331), Anthropic (litellm#15715).
 */
export const limitTooLarge =
  /max_(?:completion_)?tokens\b[^]{0,160}?(?:supports at most|a value <=|: \d+ >) (\d{1,9})\b/i;

/** What an error says of itself. All words are matched in any case. */
export const errorWords = {
  /** The request is longer than the model can read. */
  tooLong: anyOf(
    // OpenAI, vLLM, llama.cpp, LM Studio, OpenRouter, MiniMax, Cohere
    'context[ _-]?(?:length|size|window)',
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
    'longer than the (?:model|maximum)',
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
    // Doubao
    'exceed max message tokens',
    'string_above_max_length',
    'token limit exceeded',
    'too many (?:input |prompt )?tokens',
  ),
  /** The account has no money or no quota left: asking again does not help. */
  noCredit: anyOf(
    // OpenAI. Gemini says "exceeded your current quota" of a limit a minute, too.
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
  /** The key was refused, though the status does not say so: LiteLLM without a database. */
  badKey: anyOf('no_db_connection', 'invalid[_ ]api[_ ]key', 'incorrect api key'),
  /** There is no such model there, though the status does not say so: LiteLLM, Groq. */
  noModel: anyOf('invalid model name passed', 'model_not_found', 'model_decommissioned'),
  /** A filter of the provider took offence at the request. */
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
  /** Its model calls no tools, or not at this address. */
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
  /** Its chat template knows no line of the system. */
  noSystem: anyOf(
    // Gemma 2 and others on vLLM, SGLang, Text Generation Inference
    'system (?:role|messages?|prompts?) (?:is |are )?not supported',
    // Ministral on llama.cpp
    'roles are supported, got system',
    // Mistral 7B and others: without the words "after the optional system message"
    '(?<!optional system message, )conversation roles must alternate',
    // o1-mini
    'role\\W{1,3} does not support \\W?system',
    // Gemma 3 at Google
    'developer instruction is not enabled',
  ),
  /** A line of calls without a text has to have an empty one. */
  noNull: anyOf(
    // Ollama's API of OpenAI's kind
    'message content type: <nil>',
    // LM Studio
    "'content' field must be a string",
    // OpenAI, and gateways
    'expected a string, got null',
    '\\bcontent\\b[^]{0,40}(?:was|got|is) null',
  ),
  /** It answers in streams alone: Qwen's models on DashScope. */
  onlyStreams: anyOf('only supports? stream', 'for non-streaming calls', '才能进行非流式调用'),
  /** It takes no word on thinking, be it that there shall be none: Ollama 0.12.4 (ollama#12555). */
  noThinking: anyOf('does not support thinking', 'think value [^]{0,60}not supported'),
  /** It takes ids of calls in one form alone: Mistral's models, whoever serves them. */
  badId: anyOf('tool call id was [^]{0,200}with a length of'),
  /** There is no API at this path: LM Studio says so with status 200 (lmstudio-bug-tracker#618). */
  noPath: anyOf('^unexpected endpoint or method'),
  /** Its model is not running, which it calls the fault of the request: LM Studio (crush#2546). */
  notRunning: anyOf(
    '^(?:error: )?failed to load model',
    '^(?:error: )?(?:the )?model (?:is |was |has )?(?:unloaded|crashed)',
  ),
  /** Some check what their model wrote as a call, and refuse it: Groq, Ollama. */
  badCall: anyOf('tool_use_failed', 'failed to call a function', 'error parsing tool call'),
  /** Its model sees no pictures: Ollama, llama.cpp, LM Studio, vLLM, OpenAI, DeepSeek, routers. */
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

/** Behind these words of an error stands what its model wrote. */
export const quotesAnswer = anyOf(
  // llama.cpp#23838
  'failed to parse input at pos \\d{1,9}',
  'failed to parse tool call arguments as json',
  // Ollama (ollama#11781)
  'error parsing tool call',
);

/** Endings of a `base_url` that belong to one request, or to another API at the same address. */
export const endingsOfBase: Readonly<Record<'local_runtime' | 'hosted_runtime', RegExp>> = {
  local_runtime: /\/(?:v1\/chat\/completions|v1|api\/(?:chat|generate|tags|show)|api)$/i,
  hosted_runtime: /\/(?:chat\/completions|completions|models|responses)$/i,
};

function anyOf(...sources: readonly string[]): RegExp {
  return new RegExp(sources.join('|'), 'i');
}
