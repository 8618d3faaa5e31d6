import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { format, loadLexer } from './markdown.ts';
import { runs } from '../../../test/support/runs.ts';

const lexer = await loadLexer();

/** The text with its entities as tags: `<bold>…</bold>`. */
function shown(markdown: string): string {
  const { text, entities } = format(markdown, lexer);
  const marks: [number, string][] = [];
  for (const { type, offset, length, ...rest } of entities) {
    const [more] = Object.values(rest);
    marks.push([offset, `<${type}${more === undefined ? '' : `=${more}`}>`]);
    marks.push([offset + length, `</${type}>`]);
  }
  const ordered = marks.sort(
    ([a, x], [b, y]) => b - a || Number(x[1] === '/') - Number(y[1] === '/'),
  );
  return ordered.reduce((done, [at, mark]) => done.slice(0, at) + mark + done.slice(at), text);
}

const cases: readonly (readonly [string, string])[] = [
  ['plain words, 2 * 3 = 6 and a_b_c', 'plain words, 2 * 3 = 6 and a_b_c'],
  [
    '**bold** and *slanted* and ~~gone~~',
    '<bold>bold</bold> and <italic>slanted</italic> and <strikethrough>gone</strikethrough>',
  ],
  ['run `rm -rf *`', 'run <code>rm -rf *</code>'],
  ['# Title\ntext', '<bold>Title</bold>\ntext'],
  ['one\n\ntwo', 'one\n\ntwo'],
  ['- a\n- b\n  - c', '• a\n• b\n  • c'],
  ['3. a\n4. b', '3. a\n4. b'],
  ['- [x] done\n- [ ] open', '• ☑ done\n• ☐ open'],
  ['> wise\n> words', '<blockquote>wise\nwords</blockquote>'],
  ['```js\nlet a;\n```', '<pre=js>let a;</pre>'],
  ['```\na\n```\n\n```\nb\n```', '<pre>a</pre>\n\n<pre>b</pre>'],
  ['[svc](https://svc.example)', '<text_link=https://svc.example>svc</text_link>'],
  ['https://svc.example', 'https://svc.example'],
  ['[x](javascript:alert(1))', '[x](javascript:alert(1))'],
  // untether#157, grammY#471: one such link as an entity, and the server refuses the message.
  ['[the app](http://localhost:3000/)', '[the app](http://localhost:3000/)'],
  ['**see** [it](https:///etc)', '<bold>see</bold> [it](https:///etc)'],
  ['[it](https://<host>.example/x)', '[it](https://<host>.example/x)'],
  ['http://localhost:3000', 'http://localhost:3000'],
  ['![a plan](http://localhost/p.png)', 'a plan'],
  ['[here](http://127.0.0.1:80/)', '<text_link=http://127.0.0.1:80/>here</text_link>'],
  ['[six](http://[::1]:80/)', '<text_link=http://[::1]:80/>six</text_link>'],
  ['[me](tg://user?id=7)', '<text_link=tg://user?id=7>me</text_link>'],
  ['![a cat](https://x.example/c.png)', '<text_link=https://x.example/c.png>a cat</text_link>'],
  ['1 &lt; 2 &amp; \\*so\\*', '1 < 2 & *so*'],
  ['caf&eacute;&nbsp;&hellip; &#8212;&#x41;', 'café\u00a0… —A'],
  ['a&copy=1 &none; &amp;lt;', 'a&copy=1 &none; &lt;'],
  ['`&eacute;`\n\n```\n&lt;\n```', '<code>&eacute;</code>\n\n<pre>&lt;</pre>'],
  [
    '![a caf&eacute;](https://x.example/c.png)',
    '<text_link=https://x.example/c.png>a café</text_link>',
  ],
  ['<b>tags</b>', '<b>tags</b>'],
  ['|a|b|\n|-|-|\n|1|2|', '<pre>|a|b|\n|-|-|\n|1|2|</pre>'],
  ['👍 **yes**', '👍 <bold>yes</bold>'],
  ['**unfinished', '**unfinished'],
];

test('what models write is shown with entities', async (t) => {
  for (const [markdown, expected] of cases) {
    await t.test(markdown, () => assert.equal(shown(markdown), expected));
  }
});

test('code is in no other entity', () => {
  const { entities } = format('**bold `code` bold**', lexer);
  assert.deepEqual(
    entities.map(({ type, offset, length }) => [type, offset, length]),
    [
      ['bold', 0, 4],
      ['code', 5, 4],
      ['bold', 9, 5],
    ],
  );
});

test('entities lie in the text, none crosses another, and none is empty', () => {
  const marks = ['**', '*', '_', '`', '```', '> ', '- ', '1. ', '# ', '[', '](http://x)', '~~'];
  const others = ['\n', '\n\n', 'a', 'word ', '👍', '  ', '\t', '|', '---', '<b>', '&lt;', '\\'];
  const part = fc.constantFrom(...marks, ...others, '![', '[x] ', '***\n');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (pieces) => {
      const markdown = pieces.join('');
      const { text, entities } = format(markdown, lexer);
      for (const [index, a] of entities.entries()) {
        assert.ok(a.length > 0 && a.offset >= 0 && a.offset + a.length <= text.length, markdown);
        for (const b of entities.slice(index + 1)) {
          const apart = b.offset >= a.offset + a.length;
          const inside = b.offset + b.length <= a.offset + a.length;
          assert.ok(apart || inside, `${markdown} ${JSON.stringify([a, b])}`);
        }
      }
    }),
    { numRuns: runs(1_000) },
  );
});

test('words are never lost', () => {
  const word = fc.constantFrom('alpha', 'beta', 'gamma', '**delta**', '`epsilon`', '_zeta_');
  const line = fc.tuple(
    fc.constantFrom('', '- ', '1. ', '> ', '# ', '  - '),
    fc.array(word, { minLength: 1, maxLength: 5 }),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const markdown = lines.map(([begin, words]) => begin + words.join(' ')).join('\n');
      const words = (text: string): string[] => text.match(/[a-z]+/g) ?? [];
      assert.deepEqual(words(format(markdown, lexer).text), words(markdown));
    }),
    { numRuns: runs(300) },
  );
});
