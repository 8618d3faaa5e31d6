import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForBrowser, wayOf } from './addresses.ts';

const origins = ['http://127.0.0.1:4001', 'http://127.0.0.1:4002'];

const ways = [
  ['http://127.0.0.1:4001/app/', 'here'],
  ['http://127.0.0.1:4002/ui#code', 'here'],
  ['about:blank', 'here'],
  // Another program of this machine, or a core that has just started.
  ['http://127.0.0.1:4003/ui', 'wait'],
  ['http://localhost:4001/', 'elsewhere'],
  ['https://127.0.0.1:4001/', 'elsewhere'],
  ['http://127.0.0.1:4001@example.com/', 'elsewhere'],
  ['http://127.0.0.1.example.com:4001/', 'elsewhere'],
  ['https://example.com/', 'elsewhere'],
  ['file:///etc/passwd', 'nowhere'],
  ['data:text/html,hello', 'nowhere'],
  ['javascript:alert(1)', 'nowhere'],
  // A download that a page of svc created.
  ['blob:http://127.0.0.1:4001/a', 'here'],
  ['blob:http://127.0.0.1:4003/a', 'nowhere'],
  ['mailto:nobody@example.com', 'nowhere'],
  ['about:srcdoc', 'nowhere'],
  ['', 'nowhere'],
] as const;

for (const [url, way] of ways) {
  test(`a window takes "${url}" ${way}`, () => {
    assert.equal(wayOf(url, origins), way);
  });
}

test('the browser gets addresses of the web alone', () => {
  assert.ok(isForBrowser('https://example.com/a?b#c'));
  for (const url of ['file:///a', 'vscode://a', '-a', 'x', 'C:\\a.exe']) {
    assert.ok(!isForBrowser(url), url);
  }
});
