/** Asks svc by one of the clients of npm for chat completions, and prints what it got. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [clientName, modules, url, key, picture] = process.argv.slice(2);
const require = createRequire(join(modules, 'client.js'));
const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
let attempts = 0;
const fetchCounted = (...args) => {
  attempts++;
  return fetch(...args);
};

/** Each asks with `model`, `text`, a picture if `seen`, `more` fields, and its `key`. */
const clients = {
  openai() {
    const { OpenAI } = require('openai');
    const connect = (apiKey = key) => new OpenAI({ baseURL: url, apiKey, fetch: fetchCounted });
    const bodyOf = ({ model = 'echo', text, seen, more }) => {
      const image = { type: 'image_url', image_url: { url: picture } };
      const content = seen ? [{ type: 'text', text }, image] : text;
      return { model, messages: [{ role: 'user', content }], ...more };
    };
    return {
      models: async () => (await connect().models.list()).data.map(({ id }) => id),
      async ask(request) {
        const client = connect(request.key).chat.completions;
        const answer = await client.create(bodyOf(request), { signal: request.signal });
        const [{ message, finish_reason: end }] = answer.choices;
        return { text: message.content, end, tokens: answer.usage.total_tokens };
      },
      async *pieces(request) {
        const more = { stream: true, stream_options: { include_usage: true } };
        const stream = connect().chat.completions.stream({ ...bodyOf(request), ...more });
        for await (const chunk of stream) {
          const [choice] = chunk.choices;
          yield {
            text: choice?.delta.content ?? '',
            end: choice?.finish_reason,
            tokens: chunk.usage?.total_tokens,
          };
        }
      },
      async callTool(text) {
        const own = { ...weather, parse: JSON.parse, function: ({ city }) => `sun in ${city}` };
        const tools = [{ type: 'function', function: own }];
        const body = { ...bodyOf({ text }), stream: true, tools };
        return connect().chat.completions.runTools(body).finalContent();
      },
    };
  },

  ai() {
    const { createOpenAICompatible } = require('@ai-sdk/openai-compatible');
    const settings = { name: 'svc', baseURL: url, fetch: fetchCounted, includeUsage: true };
    return aiSdk((apiKey) => createOpenAICompatible({ ...settings, apiKey }));
  },

  '@ai-sdk/openai'() {
    const { createOpenAI } = require('@ai-sdk/openai');
    return aiSdk((apiKey) => createOpenAI({ baseURL: url, apiKey, fetch: fetchCounted }).chat);
  },

  '@langchain/openai'() {
    const { ChatOpenAI } = require('@langchain/openai');
    const { HumanMessage, ToolMessage } = require('@langchain/core/messages');
    const connect = ({ model = 'echo', key: apiKey = key, more }) =>
      new ChatOpenAI({
        model,
        apiKey,
        configuration: { baseURL: url, fetch: fetchCounted },
        maxRetries: 2,
        ...more,
      });
    const linesOf = ({ text, seen }) => {
      const image = { type: 'image_url', image_url: { url: picture } };
      return [new HumanMessage({ content: seen ? [{ type: 'text', text }, image] : text })];
    };
    const told = ({ content, response_metadata: meta, usage_metadata: usage }) => ({
      text: content,
      end: meta.finish_reason,
      tokens: usage?.total_tokens,
    });
    return {
      async ask(request) {
        return told(await connect(request).invoke(linesOf(request), { signal: request.signal }));
      },
      async *pieces(request) {
        for await (const chunk of await connect(request).stream(linesOf(request)))
          yield told(chunk);
      },
      async callTool(text) {
        const model = connect({}).bindTools([{ type: 'function', function: weather }]);
        const lines = linesOf({ text });
        const first = await model.invoke(lines);
        const results = first.tool_calls.map(
          ({ id, args }) => new ToolMessage({ tool_call_id: id, content: `sun in ${args.city}` }),
        );
        return (await model.invoke([...lines, first, ...results])).content;
      },
    };
  },
};

function aiSdk(connect) {
  const { generateText, streamText, stepCountIs, tool, jsonSchema } = require('ai');
  const argsOf = ({ model = 'echo', text, seen, more, signal, key: apiKey = key }) => {
    const image = { type: 'image', image: picture };
    const content = seen ? [{ type: 'text', text }, image] : text;
    return {
      model: connect(apiKey)(model),
      messages: [{ role: 'user', content }],
      abortSignal: signal,
      maxRetries: 0,
      providerOptions: { svc: more ?? {}, openai: more ?? {} },
    };
  };
  return {
    async ask(request) {
      const { text, finishReason, usage } = await generateText(argsOf(request));
      return { text, end: finishReason, tokens: usage.totalTokens };
    },
    async *pieces(request) {
      const stop = new AbortController();
      let failed;
      const onError = ({ error }) => (failed = error);
      const result = streamText({ ...argsOf({ ...request, signal: stop.signal }), onError });
      try {
        for await (const text of result.textStream) yield { text };
        if (failed !== undefined) throw failed;
        yield {
          text: '',
          end: await result.finishReason,
          tokens: (await result.usage).totalTokens,
        };
      } finally {
        stop.abort();
      }
    },
    async callTool(text) {
      const inputSchema = jsonSchema(weather.parameters);
      const execute = ({ city }) => `sun in ${city}`;
      const tools = { get_weather: tool({ ...weather, inputSchema, execute }) };
      const result = streamText({ ...argsOf({ text }), tools, stopWhen: stepCountIs(3) });
      let last = '';
      for await (const part of result.fullStream) {
        if (part.type === 'error') throw part.error;
        if (part.type === 'start-step') last = '';
        if (part.type === 'text-delta') last += part.text;
      }
      return last;
    },
  };
}

const client = clients[clientName]();
const streamed = { text: '', pieces: 0 };
for await (const { text, end, tokens } of client.pieces({ text: 'Say hello.' })) {
  streamed.text += text;
  if (text !== '') streamed.pieces++;
  if (end) streamed.end = end;
  if (tokens) streamed.tokens = tokens;
}
const refused = {};
for (const [what, request] of Object.entries({
  key: { text: 'Say hello.', key: 'sk-nobody-has-this-one' },
  model: { text: 'Say hello.', model: 'nobody' },
  field: { text: 'Say hello.', more: { logprobs: true } },
  budget: { text: 'Say hello.', model: 'poor' },
  failed: { text: 'Fail.' },
})) {
  attempts = 0;
  refused[what] = await client.ask(request).then(
    () => ['no error', 200, attempts],
    (error) => {
      const name = error.name === 'Error' ? error.constructor.name : error.name;
      return [name, error.status ?? error.statusCode ?? 0, attempts];
    },
  );
}
// Its answer comes when the model was asked the question that has no answer.
const stop = new AbortController();
const silent = client.ask({ text: 'Be silent.', signal: stop.signal }).catch(() => {});
await client.ask({ text: 'Are you asked?' });
stop.abort();
await silent;
for await (const { text } of client.pieces({ text: 'Speak for ever.' })) if (text !== '') break;
const said = {
  models: await client.models?.(),
  answer: await client.ask({ text: 'Say hello.' }),
  streamed,
  tool: await client.callTool('How is the weather in Paris?'),
  picture: (await client.ask({ text: 'What is this?', seen: true })).text,
  refused,
  // Its answer comes when both questions before are over for the model.
  hungUp: (await client.ask({ text: 'Are you free?' })).text,
};
console.log(JSON.stringify(said));
process.exit();
