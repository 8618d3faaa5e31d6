import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sliceCharacters, textOfPage } from './page-text.ts';

test('of a page its words are left, a line for each block', async () => {
  const table: readonly (readonly [page: string, text: string])[] = [
    ['', ''],
    ['plain', 'plain'],
    ['<p>one</p>\n\n  <p>two\n words</p>', 'one\ntwo words'],
    ['<!doctype html><html><head><title>T</title></head><body>B', 'T\nB'],
    ['<ul><li>a<li>b</ul>c', 'a\nb\nc'],
    ['<h1>a <b>b</b><i>c</i></h1>d', 'a bc\nd'],
    ['a<br>b<br/>c<BR />d', 'a\nb\nc\nd'],
    ['<table><tr><td>a<td>b<tr><th>c</th><td>d</table>', 'a b\nc d'],
    ['<pre>if x:\n    y\n\n\n\n    z</pre>after', 'if x:\n    y\n\n    z\nafter'],
    ['a<script>if (a<b) x("</div>")</script>b', 'ab'],
    ['a<SCRIPT type="x>y">b</ScRiPt >c', 'ac'],
    ['a<style>p > b {}</style>b<template><p>c</template>d', 'abd'],
    ['a<script>never closed', 'a'],
    ['a<noscript>without scripts</noscript>', 'awithout scripts'],
    ['a<!-- b --><!-- <p>c> -->d<!-- never closed', 'ad'],
    ['a<img alt="x > y" src=\'<p>\'>b', 'ab'],
    ["a<p don't>b", 'a\nb'],
    ['a<p title="never closed', 'a'],
    ['1 < 2 and a<', '1 < 2 and a<'],
    ['a<3b<>c</>d', 'a<3b<>c</>d'],
    ['a<?php echo 1 ?>b<![CDATA[c]]>d', 'abd'],
    [
      '&lt;p&gt; &amp;amp; &#65;&#x42;&#X43; &nbsp;&auml;&Auml; &unknown; &amp',
      '<p> &amp; ABC äÄ &unknown; &amp',
    ],
    ['&#0;&#xD800;&#1114112;&#x110000;', '\uFFFD\uFFFD\uFFFD\uFFFD'],
    ['İ<P>Straße</P>ſ', 'İ\nStraße\nſ'],
    [
      'Citro&euml;n, informaci&oacute;n &ndash; &#128;&nbsp;5&hearts;',
      'Citroën, información – € 5♥',
    ],
    ['&CounterClockwiseContourIntegral;&NotEqualTilde;', '∳≂̸'],
    ['a<svg viewBox="0"/>b<svg><text>c</text></svg>d', 'abd'],
    ['a<iframe/>b</iframe>c', 'ac'],
    ['a<object><p>b</p></object>c<svg>d', 'ac'],
    ['a<script src=x />b</script>c', 'ac'],
    ['<title>a <b> &amp; c</title>d', 'a <b> & c\nd'],
    ['a</p >b</ p>c<br/', 'a\nb\nc'],
    ['a<!doctype never closed', 'a'],
    ['a</p never closed', 'a'],
    ['a</', 'a</'],
  ];
  for (const [page, text] of table) assert.equal(await textOfPage(page), text, page);
});

test('every page is read in linear time, whatever it holds', async () => {
  const n = 1_000_000;
  const pages = {
    opens: '<'.repeat(n),
    tags: '<a'.repeat(n / 2),
    pres: '<pre>'.repeat(n / 5),
    comments: '<!--'.repeat(n / 4),
    bangs: '<!'.repeat(n / 2),
    quotes: '<a b="'.repeat(n / 6),
    scripts: '<script>'.repeat(n / 8),
    closes: '</script'.repeat(n / 8),
    spaces: `<pre>${' '.repeat(n)}x`,
    inlineSpaces: ' \n'.repeat(n / 2),
    entities: '&#'.repeat(n / 2),
    names: `&${'a'.repeat(n)}`,
    ampersands: '&'.repeat(n),
    longNames: '&CounterClockwiseContourIntegra'.repeat(n / 31),
    attributes: `<a ${'b '.repeat(n / 2)}`,
    dashes: `<!--${'-'.repeat(n)}`,
    almost: `<script>${'</scrip'.repeat(n / 7)}`,
    deep: '<b>'.repeat(n / 3),
    lines: '<br>'.repeat(n / 4),
    mixed: '<p>< &amp;</p><b>'.repeat(n / 17),
  };
  // Each page takes some 50 ms; with a step that is not linear it would take minutes.
  for (const page of Object.values(pages)) {
    assert.ok((await textOfPage(page)).length <= page.length);
  }
});

const pauses = () => {
  const counted = { count: 0, pause: () => Promise.resolve(void counted.count++) };
  return counted;
};

test('a large page is read in slices, whatever it holds', async () => {
  const n = 40 * sliceCharacters;
  const pages = ['&amp;'.repeat(n / 5), '<b>'.repeat(n / 3), 'word '.repeat(n / 5), '\n'.repeat(n)];
  for (const page of pages) {
    const counted = pauses();
    await textOfPage(page, Infinity, counted.pause);
    assert.equal(counted.count, Math.ceil(page.length / sliceCharacters) - 1);
  }
});

test('where a slice ends changes nothing', async () => {
  const odd = [
    '&CounterClockwiseContourIntegral;',
    '<p title="a > b">x',
    '  a \n',
    '<pre>\n\n a </pre>',
  ];
  for (const piece of [...odd, odd.join('')]) {
    const times = Math.ceil((3 * sliceCharacters) / piece.length);
    const short = await textOfPage(piece.repeat(40));
    const long = await textOfPage(piece.repeat(times));
    assert.ok(long.startsWith(short.slice(0, -40)), piece);
    for (let before = 1; before <= 40; before++) {
      const moved = await textOfPage(
        '<i>'.repeat(before) + '<!---->'.repeat(before) + piece.repeat(times),
      );
      assert.equal(moved, long, `${piece} ${before}`);
    }
  }
});

test('no more is read of a page than is shown', async () => {
  const counted = pauses();
  const text = await textOfPage('<p>word'.repeat(1_000_000), 100, counted.pause);
  assert.ok(text.startsWith('word\nword\n') && text.length > 100);
  assert.equal(counted.count, 0);
  const blank = await textOfPage(`<pre>${' '.repeat(100_000)}\nx`, 100, counted.pause);
  assert.equal(blank, 'x', 'white space at the end of a line is not shown');
});
