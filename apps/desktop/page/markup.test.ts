import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html, verbatim } from './frame.ts';

test('what is put in is text, unless it is markup, and nothing in it is unseen', () => {
  const text = `<a href="x" title='y'>&\u202E\u0000\uD800`;
  assert.equal(
    html`<p title="${text}">${text}</p>`.html,
    '<p title="T">T</p>'.replaceAll(
      'T',
      String.raw`&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;\u{202e}\u{0000}` + '\uFFFD',
    ),
  );
  assert.equal(html`${[html`<b>1</b>`, 2, null, 'a\tb\nc']}`.html, '<b>1</b>2a\tb\nc');
});

test('a text for a field comes back as it went in', () => {
  assert.equal(verbatim('</textarea>\u{1F468}\u200D\u{1F469}').html, '&lt;/textarea&gt;👨\u200D👩');
});
