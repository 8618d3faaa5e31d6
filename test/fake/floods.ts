/** Answers with endless bytes beside their body, and answers that only look like them. */
import { endless, type Show } from './web.ts';

const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n';
/** Unrequested, as IIS sends it before the answer to any POST (eidheim/Simple-Web-Server#117). */
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

export const floods: Readonly<Record<string, Show>> = {
  '/hints': endless('', hint.repeat(50)),
  '/too-many-hints': (socket) => socket.end(hint.repeat(17) + answer),
  '/too-many-continues': (socket) => socket.end(goOn.repeat(17) + answer),
  '/extensions': endless(chunked, `1;a=${'b'.repeat(15_000)}\r\nx\r\n`),
};

/** Each with its expected body. */
export const noFloods: Readonly<Record<string, readonly [show: Show, body: string]>> = {
  '/few-hints': [(socket) => socket.end(hint.repeat(16) + answer), 'ok'],
  '/few-continues': [(socket) => socket.end(goOn.repeat(16) + answer), 'ok'],
  '/small-chunks': [
    (socket) => socket.end(`${chunked}${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`),
    'x'.repeat(100_000),
  ],
};
