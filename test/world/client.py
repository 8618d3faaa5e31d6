"""Sends messages to svc by one of four libraries, and receives the replies (clients.ts)."""
import asyncio, http.client, json, sys, threading, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

library, url, secret, port, people, each = sys.argv[1:]
port, people, each = int(port), int(people), int(each)
replies, all_came = [], threading.Event()

def took(body):
    reply = json.loads(body)
    replies.append([reply["conversation_id"], reply["text"]])
    if len(replies) == people * each:
        all_came.set()

class Receiver(BaseHTTPRequestHandler):
    # The default: HTTP/1.0, a connection for each reply.
    def do_POST(self):
        took(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *args):
        pass

def body_of(person, at):
    return {"sender_id": f"person-{person}", "text": f"Grüße 你好 🎉 {at}"}

def headers_of(token=secret):
    return {"authorization": f"Bearer {token}", "content-type": "application/json"}

def in_threads(ask):
    """ask() gives a function for each person: headers and a body to a status."""
    statuses = []
    def speak(person):
        say = ask()
        for at in range(each):
            text = json.dumps(body_of(person, at), ensure_ascii=at % 2 == 0)
            statuses.append(say(headers_of(), text))
    threads = [threading.Thread(target=speak, args=(person,)) for person in range(people)]
    for one in threads: one.start()
    for one in threads: one.join()
    wrong = ask()(headers_of("nobody"), json.dumps(body_of(0, 0)))
    return statuses, wrong, ask()(headers_of(), "{")

def by_http_client():
    place = urllib.parse.urlsplit(url)
    def ask():
        connection = http.client.HTTPConnection(place.hostname, place.port)
        def say(headers, text):
            connection.request("POST", place.path, text.encode(), headers)
            response = connection.getresponse()
            response.read()
            return response.status
        return say
    return in_threads(ask)

def by_requests():
    import requests
    def ask():
        session = requests.Session()
        def say(headers, text):
            # The library sends a generator in chunks.
            parts = (part.encode() for part in (text[:9], text[9:]))
            return session.post(url, data=parts, headers=headers).status_code
        return say
    return in_threads(ask)

async def by_httpx():
    import httpx
    async with httpx.AsyncClient() as client:
        async def post(headers, **what):
            return (await client.post(url, headers=headers, **what)).status_code
        return await at_once(post)

async def by_aiohttp():
    import aiohttp
    from aiohttp import web
    async def take(request):
        took(await request.read())
        return web.json_response({"taken": True})
    app = web.Application()
    app.router.add_post("/replies", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    async with aiohttp.ClientSession() as session:
        async def post(headers, json=None, content=None):
            async with session.post(url, headers=headers, json=json, data=content) as response:
                await response.read()
                return response.status
        result = await at_once(post)
    await asyncio.to_thread(all_came.wait, 60)
    await runner.cleanup()
    return result

async def at_once(post):
    statuses = []
    async def speak(person):
        for at in range(each):
            statuses.append(await post(headers_of(), json=body_of(person, at)))
    await asyncio.gather(*(speak(person) for person in range(people)))
    wrong = await post(headers_of("nobody"), json=body_of(0, 0))
    return statuses, wrong, await post(headers_of(), content=b"{")

if library == "aiohttp":
    result = asyncio.run(by_aiohttp())
else:
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if library == "httpx":
        result = asyncio.run(by_httpx())
    else:
        result = {"http.client": by_http_client, "requests": by_requests}[library]()
    all_came.wait(60)
statuses, wrong, broken = result
said = {"statuses": statuses, "wrongSecret": wrong, "brokenJson": broken, "replies": replies}
print(json.dumps(said))
