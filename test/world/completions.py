"""Asks svc by one of the clients of PyPI for chat completions, and prints what it got."""
import asyncio, json, sys

name, url, key, picture = sys.argv[1:]
weather = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
tools = [{"type": "function", "function": weather}]
attempts = 0

async def count(request):
    global attempts
    attempts += 1

def content_of(text, seen):
    image = {"type": "image_url", "image_url": {"url": picture}}
    return [{"type": "text", "text": text}, image] if seen else text

class OpenAI:
    def __init__(self):
        import openai, httpx2
        hooks = {"request": [count]}
        self.connect = lambda api_key: openai.AsyncOpenAI(
            base_url=url, api_key=api_key, http_client=httpx2.AsyncClient(event_hooks=hooks))
    async def models(self):
        return [one.id async for one in self.connect(key).models.list()]
    async def ask(self, text, seen=False, model="echo", api_key=key, **more):
        messages = [{"role": "user", "content": content_of(text, seen)}]
        client = self.connect(api_key).chat.completions
        answer = await client.create(model=model, messages=messages, **more)
        choice = answer.choices[0]
        tokens = answer.usage.total_tokens
        return {"text": choice.message.content, "end": choice.finish_reason, "tokens": tokens}
    async def pieces(self, text):
        stream = await self.connect(key).chat.completions.create(
            model="echo", messages=[{"role": "user", "content": text}],
            stream=True, stream_options={"include_usage": True})
        try:
            async for chunk in stream:
                choice = chunk.choices[0] if chunk.choices else None
                yield {
                    "text": (choice.delta.content or "") if choice else "",
                    "end": choice.finish_reason if choice else None,
                    "tokens": chunk.usage.total_tokens if chunk.usage else None,
                }
        finally:
            await stream.close()
    async def call_tool(self, text):
        client = self.connect(key).chat.completions
        lines = [{"role": "user", "content": text}]
        first = (await client.create(model="echo", messages=lines, tools=tools)).choices[0].message
        # As people do it: all fields come back, with null in them.
        lines.append(first.model_dump())
        for call in first.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            lines.append({"role": "tool", "tool_call_id": call.id, "content": f"sun in {city}"})
        last = await client.create(model="echo", messages=lines, tools=tools)
        return last.choices[0].message.content

class LangChain:
    models = None
    def connect(self, model="echo", api_key=key, **more):
        import httpx2
        from langchain_openai import ChatOpenAI
        hooks = {"request": [count]}
        client = httpx2.AsyncClient(event_hooks=hooks)
        return ChatOpenAI(model=model, api_key=api_key, base_url=url, stream_usage=True,
            max_tokens=50, http_async_client=client, **more)
    def told(self, line):
        usage = line.usage_metadata
        return {
            "text": line.text,
            "end": line.response_metadata.get("finish_reason"),
            "tokens": usage["total_tokens"] if usage else None,
        }
    async def ask(self, text, seen=False, **more):
        lines = [{"role": "user", "content": content_of(text, seen)}]
        return self.told(await self.connect(**more).ainvoke(lines))
    async def pieces(self, text):
        stream = self.connect().astream(text)
        try:
            async for chunk in stream:
                yield self.told(chunk)
        finally:
            await stream.aclose()
    async def call_tool(self, text):
        from langchain_core.messages import HumanMessage, ToolMessage
        model = self.connect().bind_tools(tools)
        lines = [HumanMessage(text)]
        lines.append(await model.ainvoke(lines))
        for call in lines[-1].tool_calls:
            lines.append(ToolMessage(f"sun in {call['args']['city']}", tool_call_id=call["id"]))
        return (await model.ainvoke(lines)).text

async def refusal(client, **request):
    global attempts
    attempts = 0
    try:
        await client.ask(**{"text": "Say hello.", **request})
        return ["no error", 200, attempts]
    except Exception as error:
        return [type(error).__name__, getattr(error, "status_code", 0), attempts]

async def main():
    client = {"openai": OpenAI, "langchain-openai": LangChain}[name]()
    streamed = {"text": "", "pieces": 0}
    async for piece in client.pieces("Say hello."):
        streamed["text"] += piece["text"]
        streamed["pieces"] += piece["text"] != ""
        streamed |= {field: piece[field] for field in ("end", "tokens") if piece[field]}
    refused = {
        "key": await refusal(client, api_key="sk-nobody-has-this-one"),
        "model": await refusal(client, model="nobody"),
        "field": await refusal(client, logprobs=True),
        "budget": await refusal(client, model="poor"),
        "failed": await refusal(client, text="Fail."),
    }
    # Its answer comes when the model was asked the question that has no answer.
    silent = asyncio.create_task(client.ask("Be silent."))
    await client.ask("Are you asked?")
    silent.cancel()
    await asyncio.wait([silent])
    pieces = client.pieces("Speak for ever.")
    async for piece in pieces:
        if piece["text"] != "": break
    await pieces.aclose()
    print(json.dumps({
        "models": await client.models() if client.models else None,
        "answer": await client.ask("Say hello."),
        "streamed": streamed,
        "tool": await client.call_tool("How is the weather in Paris?"),
        "picture": (await client.ask("What is this?", seen=True))["text"],
        "refused": refused,
        # Its answer comes when both questions before are over for the model.
        "hungUp": (await client.ask("Are you free?"))["text"],
    }))

asyncio.run(main())
